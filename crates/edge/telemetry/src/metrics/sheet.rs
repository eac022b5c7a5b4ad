use super::family::Family;
use prometheus_client::encoding::{DescriptorEncoder, MetricEncoder, NoLabelSet};
use ripstop_runtime::Buckets;
use std::{
    fmt,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
};

/// Names and values of one row's labels.
pub(crate) type Labels<'a> = &'a [(&'static str, &'a str)];

/// The page that is being written, one family after the other.
pub(crate) struct Sheet<'a>(pub(crate) DescriptorEncoder<'a>);

impl Sheet<'_> {
    /// Begins a family: its name, help and type.
    pub(crate) fn family(&mut self, family: &'static Family) -> Result<Rows<'_>, fmt::Error> {
        let kind = family.kind.metric_type();
        let unit = family.unit.as_ref();
        self.0.encode_descriptor(family.stem, family.help, unit, kind).map(Rows)
    }
}

/// The rows of one family.
pub(crate) struct Rows<'a>(MetricEncoder<'a>);

impl Rows<'_> {
    /// A counter's row.
    pub(crate) fn count(&mut self, labels: Labels<'_>, count: &AtomicU64) -> fmt::Result {
        let count = count.load(Relaxed);
        self.0.encode_family(&labels)?.encode_counter::<NoLabelSet, _, f64>(&count, None)
    }

    /// A counter's row, counted in nanoseconds and shown in seconds.
    pub(crate) fn seconds(&mut self, labels: Labels<'_>, ns: u64) -> fmt::Result {
        let seconds = ns as f64 / 1e9;
        self.0.encode_family(&labels)?.encode_counter::<NoLabelSet, _, f64>(&seconds, None)
    }

    /// A counter's row, of a number that was read.
    pub(crate) fn number(&mut self, labels: Labels<'_>, value: f64) -> fmt::Result {
        self.0.encode_family(&labels)?.encode_counter::<NoLabelSet, _, f64>(&value, None)
    }

    /// A gauge's row.
    pub(crate) fn gauge(&mut self, labels: Labels<'_>, value: f64) -> fmt::Result {
        if labels.is_empty() {
            return self.0.encode_gauge(&value);
        }
        self.0.encode_family(&labels)?.encode_gauge(&value)
    }

    /// A counter without labels.
    pub(crate) fn single(&mut self, value: f64) -> fmt::Result {
        self.0.encode_counter::<NoLabelSet, _, f64>(&value, None)
    }

    /// A row that only has labels.
    pub(crate) fn info(&mut self, labels: Labels<'_>) -> fmt::Result {
        self.0.encode_info(&labels)
    }

    /// The rows of one histogram.
    pub(crate) fn histogram(&mut self, labels: Labels<'_>, buckets: &Buckets) -> fmt::Result {
        let Buckets { counts, sum } = buckets;
        let count = counts.iter().map(|(_, count)| count).sum();
        self.0.encode_family(&labels)?.encode_histogram::<NoLabelSet>(*sum, count, counts, None)
    }
}
