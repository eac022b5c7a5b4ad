use super::Demand;
use crate::{PolicySettings, RequestClass, Sample, models::Models};
use alloc::collections::BTreeMap;
use ripstop_delay::ShiftedExponential;
use ripstop_model::{Operation, Timestamp};

/// A table for each kind of request, made when it is first asked for and again when the delay model
/// changes.
#[derive(Debug)]
pub(super) struct Tables<T> {
    models: Models,
    tables: BTreeMap<Key, T>,
}

/// What a table depends on beside the delay model: operation, size, N, K, lanes. Sizes of one kind
/// share a table, computed for the first of them.
type Key = (Operation, u64, usize, usize, usize);

fn key(class: &RequestClass, lanes: usize) -> Key {
    (class.operation, class.size_kind(), class.code.n(), class.code.k(), lanes)
}

/// Most tables that are kept: as many kinds of request.
const TABLES_MAX: usize = 256;

impl<T> Tables<T> {
    /// None yet; with the delay model of `settings`, or to learn one.
    pub(super) fn new(settings: &PolicySettings) -> Self {
        Self { models: Models::new(settings.model), tables: BTreeMap::new() }
    }

    /// The table for requests of this class on this many lanes, which `make` makes if there is
    /// none; `None` as long as there is no delay model.
    pub(super) fn table(
        &mut self,
        now: Timestamp,
        class: &RequestClass,
        lanes: usize,
        make: impl FnOnce(&Demand) -> T,
    ) -> Option<&T> {
        if self.models.renew(now) {
            self.tables.clear();
        }
        let model = self.models.of(class.operation)?;
        let key = key(class, lanes);
        if self.tables.len() >= TABLES_MAX && !self.tables.contains_key(&key) {
            self.tables.clear();
        }
        let demand = Demand { model, megabytes: class.bytes().max(1) as f64 / 1e6 };
        Some(self.tables.entry(key).or_insert_with(|| make(&demand)))
    }

    /// Takes note of how long a task took.
    pub(super) fn learn(&mut self, now: Timestamp, sample: &Sample) {
        self.models.learn(now, sample);
    }

    /// The delay model of this direction, if there is one.
    pub(super) fn delay_model(&self, operation: Operation) -> Option<ShiftedExponential> {
        self.models.of(operation)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Chunking;
    use ripstop_delay::{DelayModel as _, Dice};
    use ripstop_model::{Code, NodeId};

    const MODEL: ShiftedExponential = ShiftedExponential::S3_2013_A;
    const LANES: usize = 16;

    fn class(strip_bytes: u32) -> RequestClass {
        let (operation, chunking) = (Operation::Read, Chunking::Run);
        RequestClass { operation, strip_bytes, code: Code::new(120, 60).unwrap(), chunking }
    }

    fn tables(model: Option<ShiftedExponential>) -> Tables<Demand> {
        Tables::new(&PolicySettings { model, ..PolicySettings::default() })
    }

    #[test]
    fn sizes_near_each_other_share_a_table_and_others_do_not() {
        let mut tables = tables(Some(MODEL));
        let mut megabytes = |strip_bytes: u32, lanes: usize| {
            tables
                .table(Timestamp::ZERO, &class(strip_bytes), lanes, |demand| *demand)
                .unwrap()
                .megabytes
        };
        let (first, near) = (megabytes(49_000, LANES), megabytes(50_000, LANES));
        assert!((first - 2.94).abs() < 1e-12 && (near - 2.94).abs() < 1e-12, "{first}, {near}");
        assert!((megabytes(50_000, LANES + 1) - 3.0).abs() < 1e-12);
        assert!((megabytes(60_000, LANES) - 3.6).abs() < 1e-12);
    }

    #[test]
    fn tables_are_kept_up_to_the_limit() {
        let mut tables = tables(Some(MODEL));
        for lanes in 1..=3 * TABLES_MAX {
            tables.table(Timestamp::ZERO, &class(50_000), lanes, |demand| *demand).unwrap();
            assert!(tables.tables.len() <= TABLES_MAX, "{lanes}");
        }
    }

    #[test]
    fn a_table_is_rebuilt_when_another_model_is_learned() {
        let mut tables = tables(None);
        let class = class(50_000);
        let mut learned = |scale: f64| {
            let (mut model, mut dice) = (MODEL, Dice::new(1));
            for count in 0..20_000_u64 {
                let (operation, node) = (Operation::Read, NodeId(0));
                let bytes = 3_000_000 / (1 + count % 6);
                let served = model.sample(operation.into(), bytes, &mut dice).mul_f64(scale);
                let sample = Sample { operation, node, bytes, served, finished: true };
                tables.learn(Timestamp::ZERO, &sample);
            }
            let made = tables.table(Timestamp::ZERO, &class, LANES, |demand| *demand).copied();
            assert_eq!(made.map(|demand| demand.model), tables.delay_model(Operation::Read));
            made.unwrap().lane_time_ms(1.0, 1.0)
        };
        let (first, second) = (learned(1.0), learned(10.0));
        assert!(second > 2.0 * first, "{first}, {second}");
    }
}
