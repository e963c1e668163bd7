//! Compaction of SVG without any change of its appearance.

/// Attributes with the values that SVG supplies by default.
const DEFAULTS: [&str; 3] = [r#" opacity="1""#, r#" stroke-width="1""#, r#" stroke="none""#];

/// Returns a figure of plotters without default attributes and without lines of zero length, which halves its size.
///
/// Quotes and angle brackets in texts are escaped, so that no text is taken for an attribute or a line.
pub(crate) fn compact(svg: &str) -> String {
    let drawn = svg.split_inclusive('\n').filter(|line| !is_without_length(line)).collect::<String>();
    DEFAULTS.iter().fold(drawn, |svg, default| svg.replace(default, ""))
}

/// True for a polyline whose points are equal: the bar of an interval that is narrower than a pixel.
fn is_without_length(line: &str) -> bool {
    let points = line.strip_prefix("<polyline ").and_then(|line| line.split(r#" points=""#).nth(1));
    let Some((points, _)) = points.and_then(|points| points.split_once('"')) else { return false };
    let mut points = points.split_whitespace();
    let first = points.next();
    points.all(|point| Some(point) == first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_without_length_and_default_attributes_are_omitted() {
        let svg = concat!(
            "<circle cx=\"98\" opacity=\"1\" fill=\"#E6194B\" stroke=\"none\" stroke-width=\"1\"/>\n",
            "<polyline fill=\"none\" opacity=\"1\" stroke=\"#E6194B\" stroke-width=\"1\" points=\"9,5 9,5 \"/>\n",
            "<polyline fill=\"none\" opacity=\"0.5\" stroke=\"#E6194B\" stroke-width=\"2\" points=\"9,5 9,6 \"/>\n",
            "<text>\n a stroke=&quot;none&quot; opacity=\"1\n</text>\n",
        );
        let expected = concat!(
            "<circle cx=\"98\" fill=\"#E6194B\"/>\n",
            "<polyline fill=\"none\" opacity=\"0.5\" stroke=\"#E6194B\" stroke-width=\"2\" points=\"9,5 9,6 \"/>\n",
            "<text>\n a stroke=&quot;none&quot; opacity=\"1\n</text>\n",
        );
        assert_eq!(compact(svg), expected);
    }
}
