/// The best of all fixed codes.
pub(super) const BEST_FIXED: &str = "best fixed code";

/// Each name's place among colours, dashes and markers: the same in every figure.
pub(super) fn style(name: &str) -> usize {
    const OTHERS: usize = 4;
    let names = [("TOFEC", 0), ("basic (1,1)", 1), ("Backfill", 2), ("greedy", 3)];
    let more = [("TOFEC, multi-server", 5), (BEST_FIXED, 6), ("ideal, told the rates", 6)];
    let again = [("replication (2,1)", 8)];
    let mut all = names.into_iter().chain(more).chain(again);
    all.find(|(known, _)| *known == name).map_or(OTHERS, |(_, style)| style)
}
