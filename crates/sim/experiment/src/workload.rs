//! Access logs as loads: objects cut into stripes, sizes gathered into classes.

use crate::{ClassSetting, Delays, Load, Outcome};
use ripstop_model::{Operation, Timestamp};
use ripstop_trace::{Disorder, Format, OnBadLine, Options, Spread, Summary, TraceError, open_with};
use std::{borrow::Cow, collections::BTreeMap, path::Path, time::Duration};

/// Most kinds of request that a log is told apart into.
pub const CLASSES_MAX: usize = 64;

/// Most stripes that are replayed at once.
pub const STRIPES_MAX: usize = 1 << 26;

/// The seed by which requests are spread over their second.
const SPREAD_SEED: u64 = 1;
/// The longest that a log may be, seconds: virtual time is counted in 64 bits of nanoseconds.
const SECONDS_MAX: f64 = 1e9;

/// How a log becomes a load.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct WorkloadOptions {
    /// How it is written; `None`: as it shows itself to be.
    pub format: Option<Format>,
    /// Payload of a stripe: larger objects are cut into several.
    pub stripe_max: u32,
    /// How many times as fast as it was recorded.
    pub speed: f64,
    /// This many requests from its beginning; all, if `None`.
    pub requests_max: Option<usize>,
    /// Whether lines that cannot be read are left out (and counted), not refused.
    pub skip_bad_lines: bool,
}

impl Default for WorkloadOptions {
    fn default() -> Self {
        let (format, stripe_max, speed) = (None, 8 << 20, 1.0);
        Self { format, stripe_max, speed, requests_max: None, skip_bad_lines: false }
    }
}

/// A log cannot be replayed.
#[derive(Debug, thiserror::Error)]
pub enum WorkloadError {
    /// It could not be read.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// Nothing in it moves bytes.
    #[error("the log has no request that moves bytes")]
    Empty,
    /// More than fits.
    #[error("the log has more than {STRIPES_MAX} stripes: replay its beginning")]
    TooLarge,
    /// Longer than virtual time can be.
    #[error(
        "the log would be played for {seconds:.3e} seconds: at most {SECONDS_MAX:.0e} are possible"
    )]
    TooLong {
        /// Its length, at the speed that was asked for.
        seconds: f64,
    },
}

/// What a log asks of a pool.
///
/// An object larger than a stripe is as many requests, which arrive together and are done together:
/// a gateway has only a few stripes of an object under way at once, so very large objects are a
/// harder load here than they are there.
#[derive(Clone, PartialEq, Debug)]
pub struct Workload {
    /// Kinds of request: a direction and a size of stripe, `share` being how many there are; what
    /// moves most bytes first. Where there are more than [`CLASSES_MAX`] sizes, neighbours are one
    /// class of their mean size.
    pub classes: Vec<ClassSetting>,
    /// Each stripe that is read or written: when, and its class. Ascending.
    pub stripes: Vec<(Timestamp, u16)>,
    /// The objects they are stripes of, in the same order.
    pub objects: Vec<WorkloadObject>,
    /// Bytes of all objects that the log names, each once, if it names them all.
    pub named_bytes: Option<u64>,
}

/// One request of a client.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WorkloadObject {
    /// Read or write.
    pub operation: Operation,
    /// Its first stripe; its last is before the next object's first.
    pub first: u32,
    /// What is the same for requests of one key only, if the log names keys.
    pub key: Option<u64>,
}

/// How long objects took in one run.
#[derive(Clone, PartialEq, Debug)]
pub struct ObjectDelays {
    /// All.
    pub all: Delays,
    /// Those read.
    pub reads: Delays,
    /// Those written.
    pub writes: Delays,
    /// Objects of which a stripe was rejected or failed.
    pub failed: u64,
    /// Nanoseconds of each that was done, ascending: read, written.
    pub took_ns: [Vec<u64>; 2],
}

/// A request of the log.
struct Asked {
    at: Duration,
    operation: Operation,
    bytes: u64,
    key: Option<u64>,
}

impl Workload {
    /// Reads a log, once: it may be a pipe. Requests are sorted by time; all of them, whatever
    /// their order, unless only the log's beginning is asked for. Where its times are whole
    /// seconds, requests are spread over them at random (a Poisson process within each second),
    /// which the summary says.
    pub fn read(path: &Path, options: &WorkloadOptions) -> Result<(Self, Summary), WorkloadError> {
        let Log { mut asked, named_bytes, mut summary } = read(path, options)?;
        if summary.resolution.is_some_and(|unit| unit >= Duration::from_secs(1)) {
            summary.spread = Spread::Random { seed: SPREAD_SEED };
            let origin = Duration::from_nanos(summary.origin_ns.unwrap_or(0));
            spread(&mut asked, origin.as_secs(), summary.spread);
            summary.span = asked.last().map_or(Duration::ZERO, |last| last.at);
        }
        // Of an empty object nothing is stored.
        asked.retain(|one| one.bytes > 0);
        Ok((Self::of(&asked, named_bytes, options)?, summary))
    }

    fn of(
        asked: &[Asked],
        named_bytes: Option<u64>,
        options: &WorkloadOptions,
    ) -> Result<Self, WorkloadError> {
        let mut sizes = BTreeMap::<(Operation, u64), u64>::new();
        for one in asked {
            for (bytes, count) in cut(one.bytes, options.stripe_max) {
                let all = sizes.entry((one.operation, bytes)).or_default();
                *all = all.saturating_add(count);
            }
        }
        if sizes.is_empty() {
            return Err(WorkloadError::Empty);
        }
        let stripes = sizes.values().fold(0, |sum: u64, count| sum.saturating_add(*count));
        if stripes > STRIPES_MAX as u64 {
            return Err(WorkloadError::TooLarge);
        }
        let last_s = asked.last().map_or(0.0, |last| last.at.as_secs_f64()) / options.speed;
        if last_s > SECONDS_MAX {
            return Err(WorkloadError::TooLong { seconds: last_s });
        }
        let (classes, class_of) = classes(&sizes);
        let (mut stripes, mut objects) = (Vec::new(), Vec::with_capacity(asked.len()));
        for one in asked {
            let at = Timestamp::from_nanos((one.at.as_nanos() as f64 / options.speed) as u64);
            let (operation, first) = (one.operation, stripes.len() as u32);
            objects.push(WorkloadObject { operation, first, key: one.key });
            for (bytes, count) in cut(one.bytes, options.stripe_max) {
                let class = class_of[&(one.operation, bytes)];
                stripes.extend((0..count).map(|_| (at, class)));
            }
        }
        Ok(Self { classes, stripes, objects, named_bytes })
    }

    /// Requests for stripes per second.
    pub fn rate_per_s(&self) -> f64 {
        self.stripes.len() as f64 / self.span_s()
    }

    /// From its beginning to its end, as if one more request came after it; seconds.
    pub fn span_s(&self) -> f64 {
        let (count, last) = (self.stripes.len() as f64, self.stripes.last());
        let span = last.map_or(0.0, |last| last.0.as_nanos() as f64 / 1e9);
        // Of requests that all come at once nobody knows the rate.
        if span > 0.0 && count > 1.0 { span * count / (count - 1.0) } else { 1.0 }
    }

    /// Bytes that clients asked to move.
    pub fn bytes(&self) -> f64 {
        self.classes.iter().map(|class| class.share * class.bytes as f64).sum()
    }

    /// This many times as fast.
    pub fn load(&self, speed: f64) -> Load {
        let at = |at: Timestamp| Timestamp::from_nanos((at.as_nanos() as f64 / speed) as u64);
        Load::Trace(self.stripes.iter().map(|&(time, class)| (at(time), class)).collect())
    }

    fn stripes_of(&self, object: usize) -> core::ops::Range<usize> {
        let next = self.objects.get(object + 1).map_or(self.stripes.len(), |o| o.first as usize);
        self.objects[object].first as usize..next
    }

    /// Bytes of an object, as its stripes' classes have them.
    pub(crate) fn bytes_of(&self, object: usize) -> u64 {
        let stripes = &self.stripes[self.stripes_of(object)];
        stripes.iter().map(|&(_, class)| self.classes[usize::from(class)].bytes).sum()
    }

    /// Whether an object is written and has fewer bytes than this.
    pub(crate) fn is_small(&self, object: usize, below: u32) -> bool {
        let is_write = self.objects[object].operation == Operation::Write;
        let is_one = self.stripes_of(object).len() == 1;
        is_write && is_one && self.bytes_of(object) < u64::from(below)
    }

    /// The part in which about this many stripes follow one another fastest; all of it, if there
    /// are no more than that.
    pub fn busiest(&self, stripes_max: usize) -> Cow<'_, Self> {
        if self.stripes.len() <= stripes_max {
            return Cow::Borrowed(self);
        }
        let end_of = |object: usize| self.stripes_of(object).end;
        let (mut best, mut end) = ((u64::MAX, 0, 1), 0);
        for begin in 0..self.objects.len() {
            let first = self.objects[begin].first as usize;
            while end < self.objects.len() && end_of(end) <= first + stripes_max {
                end += 1;
            }
            let end = end.max(begin + 1);
            let last = end_of(end - 1) - 1;
            let span = self.stripes[last].0.as_nanos() - self.stripes[first].0.as_nanos();
            if span < best.0 {
                best = (span, begin, end);
            }
            // What begins later is shorter.
            if end == self.objects.len() {
                break;
            }
        }
        let (_, begin, end) = best;
        let (first, last) = (self.objects[begin].first, end_of(end - 1));
        let zero = self.stripes[first as usize].0.as_nanos();
        let shift =
            |&(at, class): &(Timestamp, u16)| (Timestamp::from_nanos(at.as_nanos() - zero), class);
        let object = |o: &WorkloadObject| WorkloadObject { first: o.first - first, ..*o };
        Cow::Owned(Self {
            classes: self.classes.clone(),
            stripes: self.stripes[first as usize..last].iter().map(shift).collect(),
            objects: self.objects[begin..end].iter().map(object).collect(),
            named_bytes: self.named_bytes,
        })
    }

    /// Over and over, until there are at least this many stripes, or no more time: only then does a
    /// queue that grows have the time to show it.
    pub fn repeated(&self, stripes_min: usize) -> Cow<'_, Self> {
        let times = stripes_min.div_ceil(self.stripes.len().max(1));
        let times = times.min((SECONDS_MAX / self.span_s()) as usize);
        if times <= 1 {
            return Cow::Borrowed(self);
        }
        let (span_ns, count) = (libm::round(self.span_s() * 1e9) as u64, self.stripes.len() as u32);
        let mut all = self.clone();
        for round in 1..times {
            let later = |&(at, class): &(Timestamp, u16)| {
                (Timestamp::from_nanos(at.as_nanos() + round as u64 * span_ns), class)
            };
            let object = |object: &WorkloadObject| WorkloadObject {
                first: object.first + round as u32 * count,
                ..*object
            };
            all.stripes.extend(self.stripes.iter().map(later));
            all.objects.extend(self.objects.iter().map(object));
        }
        all.classes.iter_mut().for_each(|class| class.share *= times as f64);
        Cow::Owned(all)
    }

    /// How long its objects took in a run that kept the courses and counted from the first request.
    pub fn delays(&self, outcome: &Outcome) -> ObjectDelays {
        let mut took = vec![None; self.stripes.len()];
        for course in &outcome.courses {
            took[course.request as usize] = Some(course.took_ns);
        }
        let (mut done, mut failed) = ([Vec::new(), Vec::new()], 0);
        for (index, object) in self.objects.iter().enumerate() {
            let stripes = &took[self.stripes_of(index)];
            let slowest =
                stripes.iter().try_fold(0, |slowest: u64, took| Some(slowest.max((*took)?)));
            match slowest {
                Some(slowest) => done[object.operation as usize].push(slowest),
                None => failed += 1,
            }
        }
        let [reads, writes] = &mut done;
        let mut all: Vec<u64> = reads.iter().chain(&*writes).copied().collect();
        let (all, reads, writes) = (Delays::of(&mut all), Delays::of(reads), Delays::of(writes));
        ObjectDelays { all, reads, writes, failed, took_ns: done }
    }
}

/// What a log has.
struct Log {
    /// Ascending times.
    asked: Vec<Asked>,
    named_bytes: Option<u64>,
    summary: Summary,
}

fn read(path: &Path, options: &WorkloadOptions) -> Result<Log, WorkloadError> {
    let on_bad_line = if options.skip_bad_lines { OnBadLine::Skip } else { OnBadLine::Refuse };
    let disorder = match options.requests_max {
        Some(_) => Disorder::default(),
        None => Disorder::SortAll { records_max: STRIPES_MAX },
    };
    let read = Options { on_bad_line, disorder, spread: Spread::Off };
    let mut reader = open_with(path, options.format, read)?;
    let (mut asked, mut named) = (Vec::new(), Some(BTreeMap::<u64, u64>::new()));
    for record in reader.by_ref().take(options.requests_max.unwrap_or(usize::MAX)) {
        let record = record?;
        match (&mut named, record.key) {
            (Some(known), Some(key)) => {
                let bytes = known.entry(key).or_default();
                *bytes = record.bytes.max(*bytes);
            }
            (_, None) => named = None,
            (None, Some(_)) => {}
        }
        let (at, operation, bytes) = (record.time, record.operation, record.bytes);
        asked.push(Asked { at, operation, bytes, key: record.key });
        if asked.len() > STRIPES_MAX {
            return Err(WorkloadError::TooLarge);
        }
    }
    let named_bytes =
        named.map(|known| known.values().fold(0, |sum: u64, bytes| sum.saturating_add(*bytes)));
    Ok(Log { asked, named_bytes, summary: reader.summary().clone() })
}

/// Spreads requests over their seconds, the first of which is `origin` seconds after 1970; the
/// first request then is at time zero.
fn spread(asked: &mut [Asked], origin: u64, spread: Spread) {
    for second in asked.chunk_by_mut(|one, next| one.at == next.at) {
        let offsets = spread.offsets(origin + second[0].at.as_secs(), second.len());
        for (one, offset) in second.iter_mut().zip(offsets) {
            one.at += Duration::from_nanos(offset);
        }
    }
    let zero = asked.first().map_or(Duration::ZERO, |first| first.at);
    for one in asked {
        one.at -= zero;
    }
}

/// Sizes of an object's stripes, and how many have each; full ones first.
fn cut(bytes: u64, stripe_max: u32) -> impl Iterator<Item = (u64, u64)> {
    let (full, max) = (bytes / u64::from(stripe_max), u64::from(stripe_max));
    [(max, full), (bytes % max, 1)].into_iter().filter(|&(bytes, count)| bytes > 0 && count > 0)
}

type ClassOf = BTreeMap<(Operation, u64), u16>;

/// Classes of sizes, each with how many there are, and the class of each.
fn classes(sizes: &BTreeMap<(Operation, u64), u64>) -> (Vec<ClassSetting>, ClassOf) {
    let group = |bits: u32| {
        let mut groups = BTreeMap::<(Operation, u64), (u128, u64)>::new();
        for (&(operation, bytes), &count) in sizes {
            let bucket = if bits == u32::MAX { bytes } else { bucket(bytes, bits) };
            let group = groups.entry((operation, bucket)).or_default();
            group.0 += u128::from(bytes) * u128::from(count);
            group.1 += count;
        }
        groups
    };
    // 2^bits classes from one power of two to the next; with one, 64 hold every size of a stripe.
    let finest = [u32::MAX, 4, 3, 2, 1, 0].into_iter().map(|bits| (bits, group(bits)));
    let fitting =
        finest.into_iter().find(|(bits, groups)| groups.len() <= CLASSES_MAX || *bits == 0);
    let (bits, groups) = fitting.expect("the last always fits");
    let mut order: Vec<_> = groups.into_iter().collect();
    order.sort_by_key(|&(key, (bytes, _))| (core::cmp::Reverse(bytes), key));
    let class = |&((operation, _), (bytes, count)): &((Operation, u64), (u128, u64))| {
        ClassSetting::new(operation, (bytes / u128::from(count)) as u64, count as f64)
    };
    let index: BTreeMap<_, u16> =
        order.iter().enumerate().map(|(index, (key, _))| (*key, index as u16)).collect();
    let class_of = sizes.keys().map(|&(operation, bytes)| {
        let bucket = if bits == u32::MAX { bytes } else { bucket(bytes, bits) };
        ((operation, bytes), index[&(operation, bucket)])
    });
    (order.iter().map(class).collect(), class_of.collect())
}

/// The power of two and the next `bits` bits.
fn bucket(bytes: u64, bits: u32) -> u64 {
    match bytes.checked_ilog2() {
        Some(power) if power >= bits => {
            u64::from(power) << bits | (bytes >> (power - bits)) & ((1 << bits) - 1)
        }
        Some(_) | None => bytes,
    }
}

#[cfg(test)]
mod tests;
