use core::fmt;
use ripstop_delay::Preset;
use ripstop_figure::{Cell, Estimate, Table};

/// What a number must be.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Expected {
    /// No less.
    AtLeast(f64),
    /// No more.
    AtMost(f64),
    /// Within both.
    Between(f64, f64),
    /// This, give or take.
    Near {
        /// What.
        value: f64,
        /// Give or take so much.
        tolerance: f64,
    },
}

impl Expected {
    /// This value, give or take a share of it.
    pub(crate) fn within(value: f64, share: f64) -> Self {
        Self::Near { value, tolerance: value * share }
    }

    /// Whether a number is what it must be.
    pub fn admits(self, found: f64) -> bool {
        match self {
            Self::AtLeast(least) => found >= least,
            Self::AtMost(most) => found <= most,
            Self::Between(least, most) => (least..=most).contains(&found),
            Self::Near { value, tolerance } => (found - value).abs() <= tolerance,
        }
    }

    /// Whether what was found, give or take half its confidence interval, is what it must be.
    pub fn verdict(self, found: f64, half_width: Option<f64>) -> Verdict {
        let half = half_width.unwrap_or(0.0);
        if self.admits(found) {
            Verdict::Holds
        } else if self.meets(found - half, found + half) {
            Verdict::WithinError
        } else {
            Verdict::Fails
        }
    }

    /// Whether some number between these is.
    fn meets(self, low: f64, high: f64) -> bool {
        match self {
            Self::AtLeast(least) => high >= least,
            Self::AtMost(most) => low <= most,
            Self::Between(least, most) => low <= most && high >= least,
            Self::Near { value, tolerance } => {
                low <= value + tolerance && high >= value - tolerance
            }
        }
    }
}

/// Whether a claim holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// What was found is what is expected.
    Holds,
    /// It is not, but its confidence interval reaches there: so few runs cannot tell.
    WithinError,
    /// It does not.
    Fails,
}

impl Verdict {
    /// How many hold, are within their error, and do not hold.
    pub fn counts(verdicts: impl IntoIterator<Item = Self>) -> [usize; 3] {
        // In the order in which they are declared.
        verdicts.into_iter().fold([0; 3], |mut counts, verdict| {
            counts[verdict as usize] += 1;
            counts
        })
    }

    /// Its name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::WithinError => "within error",
            Self::Fails => "DOES NOT HOLD",
        }
    }
}

impl fmt::Display for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::AtLeast(least) => write!(f, "at least {}", number(least)),
            Self::AtMost(most) => write!(f, "at most {}", number(most)),
            Self::Between(least, most) => write!(f, "{} to {}", number(least), number(most)),
            Self::Near { value, tolerance } => {
                write!(f, "{} ± {}", number(value), number(tolerance))
            }
        }
    }
}

/// Something that the paper, or its second reading, says of a figure, and what was found.
#[derive(Clone, PartialEq, Debug)]
pub struct Check {
    /// The figure's number in the paper.
    pub figure: u8,
    /// What is said, with its unit.
    pub claim: String,
    /// Which delays; none if it does not depend on them.
    pub preset: Option<Preset>,
    /// What was found.
    pub found: f64,
    /// Half the width of its 95 % confidence interval over the seeds, where it has one.
    pub half_width: Option<f64>,
    /// What it must be.
    pub expected: Expected,
    /// Where it was found, if it is the worst of several; may be empty.
    pub place: String,
}

impl Check {
    pub(crate) fn new(
        figure: u8,
        claim: impl Into<String>,
        found: f64,
        expected: Expected,
    ) -> Self {
        let (preset, half_width, place) = (None, None, String::new());
        Self { figure, claim: claim.into(), preset, found, half_width, expected, place }
    }

    /// The same of an estimate: its mean counts, its interval is told.
    pub(crate) fn of(
        figure: u8,
        claim: impl Into<String>,
        found: Estimate,
        expected: Expected,
    ) -> Self {
        let half_width = Some(found.half_width).filter(|half| half.is_finite());
        Self { half_width, ..Self::new(figure, claim, found.mean, expected) }
    }

    pub(crate) fn with(self, preset: Preset) -> Self {
        Self { preset: Some(preset), ..self }
    }

    pub(crate) fn at(self, place: impl Into<String>) -> Self {
        Self { place: place.into(), ..self }
    }

    /// Whether it holds.
    pub fn verdict(&self) -> Verdict {
        self.expected.verdict(self.found, self.half_width)
    }

    /// Its words: figure, claim, delays, found, expected, where, whether it holds.
    fn words(&self) -> [String; 7] {
        let half = self.half_width.map_or(String::new(), |half| format!(" ± {}", number(half)));
        [
            self.figure.to_string(),
            self.claim.clone(),
            self.preset.map_or(String::new(), |preset| preset.name().to_owned()),
            format!("{}{half}", number(self.found)),
            self.expected.to_string(),
            self.place.clone(),
            self.verdict().name().to_owned(),
        ]
    }

    /// A table of checks.
    pub fn table(checks: &[Self]) -> Table {
        let columns =
            ["figure", "claim", "delays", "found", "half_width", "expected", "at", "verdict"];
        let mut table = Table::new(columns);
        for check in checks {
            let [_, claim, preset, _, expected, place, verdict] = check.words();
            let text = |text: String| if text.is_empty() { Cell::Missing } else { text.into() };
            table.push([
                u64::from(check.figure).into(),
                claim.into(),
                text(preset),
                check.found.into(),
                check.half_width.into(),
                expected.into(),
                text(place),
                verdict.into(),
            ]);
        }
        table
    }

    /// The same as lines of text for a terminal.
    pub fn text(checks: &[Self]) -> String {
        let header = ["fig.", "claim", "delays", "found", "expected", "at", ""].map(String::from);
        let rows: Vec<_> = core::iter::once(header).chain(checks.iter().map(Self::words)).collect();
        let wide = |at: usize| rows.iter().map(|row| row[at].chars().count()).max().unwrap_or(0);
        let widths: Vec<usize> = (0..7).map(wide).collect();
        let line = |row: &[String; 7]| {
            let cells = row.iter().zip(&widths).map(|(cell, &wide)| format!("{cell:wide$}"));
            cells.collect::<Vec<_>>().join("  ").trim_end().to_owned() + "\n"
        };
        rows.iter().map(line).collect()
    }
}

/// Four digits at most, where they say something.
fn number(value: f64) -> String {
    let size = value.abs();
    let decimals = match size {
        _ if size >= 1000.0 => 0,
        _ if size >= 100.0 => 1,
        _ if size >= 10.0 => 2,
        _ => 3,
    };
    let text = format!("{value:.decimals$}");
    match text.split_once('.') {
        Some(_) => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        None => text,
    }
}
