//! Best number of choices when the hot set moves, predicted only by the mean field. The prediction was recorded
//! before anything was simulated.

use crate::Failure;
use crate::chart::{Chart, Series};
use crate::moving_hot_set::{LOADS, Settings, index_of_least, predict, regret_percent};
use crate::session::Session;
use crate::statements::Statements;
use crate::table::Table;

pub fn run(session: &Session) -> Result<(), Failure> {
    let settings: Settings = session.settings()?;
    let predicted = predict(session, &settings)?;
    let (mut all, mut best) = (Table::default(), Table::default());
    let ten =
        settings.choices.iter().position(|&choices| choices == 10).ok_or("10 choices are not on the grid")?;
    let last = settings.choices.len() - 1;
    let mut small = Vec::new();
    for (place, values) in settings.drives().iter().zip(&predicted) {
        for (choices, value) in settings.choices.iter().zip(values) {
            all.add(place.fields().text("d", choices).number("predicted", *value, 4));
        }
        let at = index_of_least(values);
        let (of_ten, of_last) = (regret_percent(values[ten], values), regret_percent(values[last], values));
        best.add(
            place
                .fields()
                .text("best_d", settings.choices[at])
                .number("predicted", values[at], 4)
                .number("regret_of_10_percent", of_ten, 2)
                .number("regret_of_largest_percent", of_last, 2),
        );
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
