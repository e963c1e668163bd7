//! Best number of choices when the hot set moves, predicted only by the mean field. The prediction was recorded
//! before anything was simulated.

use crate::Failure;
use crate::chart::{Chart, Series};
use crate::moving_hot_set::{LOADS, Settings, index_of_least, predict, regret_percent};
use crate::session::Session;
use crate::statements::Statements;
use crate::table::{Table, number};

pub fn run(session: &Session) -> Result<(), Failure> {
    let settings: Settings = session.settings()?;
    let predicted = predict(session, &settings)?;
    let mut all = Table::new(&["S_f", "r", "f", "period", "d", "predicted"]);
    let mut best = Table::new(&[
        "S_f",
        "r",
        "f",
        "period",
        "best_d",
        "predicted",
        "regret_of_10_percent",
        "regret_of_largest_percent",
    ]);
    let ten =
        settings.choices.iter().position(|&choices| choices == 10).ok_or("10 choices are not on the grid")?;
    let last = settings.choices.len() - 1;
    let mut small = Vec::new();
    for (place, values) in settings.drives().iter().zip(&predicted) {
        for (choices, value) in settings.choices.iter().zip(values) {
            all.push(place.fields().into_iter().chain([choices.to_string(), number(*value, 4)]).collect());
        }
        let at = index_of_least(values);
        let (of_ten, of_last) = (regret_percent(values[ten], values), regret_percent(values[last], values));
        let row =
            [settings.choices[at].to_string(), number(values[at], 4), number(of_ten, 2), number(of_last, 2)];
        best.push(place.fields().into_iter().chain(row).collect());
        small.push((place.name(), of_ten <= 3.0));
    }
    all.write(session, "predicted")?;
    best.publish(session, "best")?;
    let middle = settings.spare_factors[settings.spare_factors.len() / 2];
    let mut series = Vec::new();
    for (r, f) in LOADS {
        let drives = settings.drives().into_iter().zip(&predicted);
        let selected = drives
            .filter(|(place, _)| (place.spare_factor, place.hot_writes, place.hot_space) == (middle, r, f));
        let points =
            selected.map(|(place, values)| (place.period.log10(), regret_percent(values[ten], values)));
        series.push(Series::line(format!("r = {r}, f = {f}"), points.collect::<Vec<_>>()));
    }
    let title = format!("What d = 10 costs beyond the best d, by the mean field, S_f = {middle}");
    Chart { title: &title, x: "drive writes from move to move, log10", y: "percent" }
        .draw(session, "plot", &series)?;
    let mut statements = Statements::default();
    statements.check("ours: d = 10 costs 3 percent or less beyond the best d", small);
    statements.publish(session)
}
