// What the pages of reports use of ECharts; all else is left out of the bundle.
import { BarChart, HeatmapChart, LineChart, SankeyChart, ScatterChart } from "echarts/charts";
import {
  AriaComponent,
  DataZoomComponent,
  GridComponent,
  LegendComponent,
  MarkAreaComponent,
  MarkLineComponent,
  TitleComponent,
  TooltipComponent,
  VisualMapContinuousComponent,
} from "echarts/components";
import { init, use } from "echarts/core";
import { SVGRenderer } from "echarts/renderers";

use([
  BarChart, HeatmapChart, LineChart, SankeyChart, ScatterChart,
  AriaComponent, DataZoomComponent, GridComponent, LegendComponent, MarkAreaComponent, MarkLineComponent, TitleComponent,
  TooltipComponent, VisualMapContinuousComponent,
  SVGRenderer,
]);

export { init };
