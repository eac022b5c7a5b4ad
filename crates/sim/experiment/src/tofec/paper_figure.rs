use super::{against_rate, codes, fixed_codes, harmonic, paper::PRESETS, surge, task_log};
use ripstop_figure::{Figure, Table, TableError};

/// A figure of the paper.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum PaperFigure {
    /// 1: mean delay against rate for all fixed codes.
    FixedCodes,
    /// 4: how task delays are distributed.
    TaskDelays,
    /// 5: how service delays of 3 of n chunks are distributed.
    ServiceDelays,
    /// 6: mean and deviation of task delays against chunk size.
    ChunkSizes,
    /// 7: the harmonic sum and its bound.
    Harmonic,
    /// 8: delays against rate.
    Delays,
    /// 9: their deviation.
    Deviation,
    /// 10: shares of each k.
    Codes,
    /// 11: a surge.
    Surge,
}

impl PaperFigure {
    /// Each of them, in the paper's order.
    pub const ALL: [Self; 9] = [
        Self::FixedCodes,
        Self::TaskDelays,
        Self::ServiceDelays,
        Self::ChunkSizes,
        Self::Harmonic,
        Self::Delays,
        Self::Deviation,
        Self::Codes,
        Self::Surge,
    ];

    /// Its number in the paper.
    pub const fn number(self) -> u8 {
        match self {
            Self::FixedCodes => 1,
            Self::TaskDelays => 4,
            Self::ServiceDelays => 5,
            Self::ChunkSizes => 6,
            Self::Harmonic => 7,
            Self::Delays => 8,
            Self::Deviation => 9,
            Self::Codes => 10,
            Self::Surge => 11,
        }
    }

    /// What its files are called, without their ending.
    pub fn name(self) -> String {
        format!("figure-{:02}", self.number())
    }

    /// What it shows.
    pub const fn caption(self) -> &'static str {
        match self {
            Self::FixedCodes => "Mean delay against rate for all fixed codes",
            Self::TaskDelays => "Task delays by chunk size, from a task log",
            Self::ServiceDelays => "Service delay of 3 MB in chunks of 1 MB, n of them at once",
            Self::ChunkSizes => "Task delays against chunk size, with the fitted lines",
            Self::Harmonic => "The harmonic sum of the service delay and its bound",
            Self::Delays => "Delay against rate",
            Self::Deviation => "Standard deviation of the delay against rate",
            Self::Codes => "Share of the requests that each k served",
            Self::Surge => "600 s at 10, 80 and 10 requests/s",
        }
    }

    /// Its drawings, made from its table alone: what each is called beyond [`PaperFigure::name`]
    /// (empty if it is the only one), and the drawing. Fails for a table that is not this figure's.
    pub fn draw(self, table: &Table) -> Result<Vec<(&'static str, Figure)>, TableError> {
        let title = self.caption();
        let both = |draw: fn(&Table, String) -> Result<Figure, TableError>| {
            let one = |(preset, end): (ripstop_delay::Preset, &'static str)| {
                let own = table.only("delays", preset.name())?;
                Ok((end, draw(&own, format!("{title} ({})", preset.name()))?))
            };
            PRESETS.into_iter().zip(["-a", "-b"]).map(one).collect()
        };
        match self {
            Self::FixedCodes => Ok(vec![("", fixed_codes::draw(table, title)?)]),
            Self::TaskDelays => Ok(vec![("", task_log::draw_delays(table, title)?)]),
            Self::ServiceDelays => Ok(vec![("", task_log::draw_services(table, title)?)]),
            Self::ChunkSizes => both(task_log::draw_sizes),
            Self::Harmonic => Ok(vec![("", harmonic::draw(table, title)?)]),
            Self::Delays => both(against_rate::draw_delays),
            Self::Deviation => Ok(vec![("", against_rate::draw_deviation(table, title)?)]),
            Self::Codes => both(codes::draw),
            Self::Surge => both(surge::draw),
        }
    }
}
