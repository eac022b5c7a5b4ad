mod stream;

use crate::{ClassSetting, Layout, Load, Setting};
use ripstop_engine::Arrival;
use ripstop_gateway::RequestSpec as Wanted;
use ripstop_model::{NodeId, Operation, StripSet, Timestamp};
use stream::{Coming, Stream};

/// Makes the arrivals of a run from streams of their own: equal seeds give equal arrivals, whatever
/// the policy and the delays, and those of a class that arrives by itself whatever the other
/// classes do.
#[derive(Debug)]
pub struct Arrivals<'a> {
    setting: &'a Setting,
    streams: Vec<Stream<'a>>,
    shares: f64,
}

impl<'a> Arrivals<'a> {
    /// The arrivals of this load under this seed.
    pub fn new(setting: &'a Setting, load: &'a Load, seed: u64) -> Self {
        let shares = setting.classes.iter().map(|class| class.share).sum();
        Self { setting, streams: Stream::all(load, seed), shares }
    }

    fn class(&mut self, stream: usize) -> usize {
        let classes = &self.setting.classes;
        if classes.len() == 1 {
            return 0;
        }
        let mut at = self.streams[stream].kinds.uniform() * self.shares;
        for (index, class) in classes.iter().enumerate() {
            at -= class.share;
            if at < 0.0 {
                return index;
            }
        }
        classes.len() - 1
    }

    fn operation(&mut self, stream: usize, class: &ClassSetting) -> Wanted {
        let (n, k) = (self.setting.code.n() as u8, self.setting.code.k() as u8);
        let nodes = self.setting.nodes.len() as u64;
        let first = if nodes == 1 { 0 } else { self.streams[stream].kinds.below(nodes) };
        match (self.setting.layout, class.operation) {
            (Layout::Unique | Layout::Shared, Operation::Read) => {
                Wanted::ReadShared { n, k, node: Some(NodeId(first as u16)) }
            }
            (Layout::Unique | Layout::Spread | Layout::Shared, Operation::Write) => {
                write(self.setting)
            }
            (Layout::Spread, Operation::Read) if self.setting.plan.is_some() => {
                // Where they are is known when they come: stripes move.
                let places = Vec::new();
                Wanted::Read { k, wanted: StripSet::first(usize::from(k)), places }
            }
            (Layout::Spread, Operation::Read) => {
                let place = |index: u64| NodeId(((first + index) % nodes) as u16);
                let places = (0..u64::from(n)).map(|index| Some(place(index))).collect();
                Wanted::Read { k, wanted: StripSet::first(usize::from(k)), places }
            }
        }
    }
}

impl Iterator for Arrivals<'_> {
    type Item = (u16, Arrival);
    fn next(&mut self) -> Option<(u16, Arrival)> {
        let soonest =
            self.streams.iter().enumerate().filter_map(|(at, s)| Some((s.next_at()?, at)));
        let stream = soonest.min()?.1;
        let Coming { at, class, number } = self.streams[stream].take()?;
        let class = class.map_or_else(|| self.class(stream), usize::from);
        let kind = self.setting.classes[class];
        let operation = self.operation(stream, &kind);
        let strip_bytes = task_bytes(self.setting, &kind);
        let tenant = kind.tenant;
        Some((class as u16, Arrival { at, tenant, operation, strip_bytes, luck: number }))
    }
}

/// How a write is asked of the pool.
fn write(setting: &Setting) -> Wanted {
    let (n, k) = (setting.code.n() as u8, setting.code.k() as u8);
    match setting.layout {
        Layout::Unique => Wanted::WriteUnique { n, k },
        Layout::Spread => Wanted::Write { n, k },
        Layout::Shared => Wanted::Write { n: 1, k: 1 },
    }
}

/// Bytes that a task moves for one strip of what is asked.
fn task_bytes(setting: &Setting, class: &ClassSetting) -> u32 {
    let strips = match (setting.layout, class.operation) {
        (Layout::Shared, Operation::Write) => setting.code.n() as u32,
        (Layout::Spread | Layout::Unique, _) | (Layout::Shared, Operation::Read) => 1,
    };
    setting.strip_bytes(class).saturating_mul(strips)
}

/// A write that was not in the load.
pub(crate) fn write_arrival(
    setting: &Setting,
    class: &ClassSetting,
    at: Timestamp,
    luck: u64,
) -> Arrival {
    let (tenant, strip_bytes) = (class.tenant, task_bytes(setting, class));
    Arrival { at, tenant, operation: write(setting), strip_bytes, luck }
}
