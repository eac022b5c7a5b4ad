use std::time::Duration;

/// How long drills may take.
pub(super) const DRILLS_MAX: Duration = Duration::from_hours(24);
/// How long a build may take.
pub(super) const BUILD_MAX: Duration = Duration::from_mins(30);

/// Cargo's words for how the program that plays is built, to be quick.
pub(super) const PLAYED: [&str; 4] =
    ["--config", "crates/drill/played.toml", "-p", "ripstop-drill"];
