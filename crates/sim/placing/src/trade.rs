use ripstop_figure::{Axis, Figure, Panel, Points, Series, Table, TableError};
use ripstop_placement::Plan;

/// A plan's place among the others.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Chosen {
    /// θ, seconds per unit of money.
    pub theta: f64,
    /// Bound on the mean latency, seconds.
    pub latency_s: f64,
    /// What storing all chunks costs.
    pub money: f64,
}

/// Latency and cost of the plans that `solve` makes for this many seconds per unit of money; those
/// it cannot make are left out.
pub fn tradeoff<E>(thetas: &[f64], mut solve: impl FnMut(f64) -> Result<Plan, E>) -> Table {
    let columns = ["theta_s_per_money", "money", "latency_s", "objective_s", "lower_bound_s"];
    let mut table = Table::new(columns);
    for &theta in thetas {
        if let Ok(plan) = solve(theta) {
            let certificate = plan.certificate;
            let row = [theta, plan.money, plan.latency, certificate.value, certificate.lower_bound];
            table.push(row.map(Into::into));
        }
    }
    table
}

/// Latency against cost, with the chosen plan marked.
pub fn tradeoff_figure(
    title: &str,
    table: &Table,
    chosen: &Chosen,
    unit: &str,
) -> Result<Figure, TableError> {
    let (money, latency) = (table.numbers("money")?, table.numbers("latency_s")?);
    let points: Points = money.into_iter().zip(latency).collect();
    let name = format!("chosen: {:.4} s per dollar", chosen.theta);
    let panel = Panel::new("", Axis::linear(unit), Axis::linear("bound on the mean latency, s"))
        .series(Series::line("plans as a second's worth changes", points).markers())
        .series(Series::points(name, vec![(chosen.money, chosen.latency_s)]))
        .rule_x(chosen.money, "")
        .rule_y(chosen.latency_s, "");
    Ok(Figure::new(title).panel(panel))
}
