use super::{
    Discipline, fair::Fair, fifo::Fifo, miser::Miser, order::Order, pclock::PClock, split::Split,
};

/// The orders there are.
#[derive(Clone, Debug)]
pub(super) enum AnyOrder {
    Fifo(Fifo),
    Split(Split),
    Fair(Fair),
    PClock(PClock),
    Miser(Miser),
}

impl AnyOrder {
    /// The discipline's order, ignorant of any flow.
    pub(super) fn new(discipline: Discipline) -> Self {
        match discipline {
            Discipline::Fifo => Self::Fifo(Fifo::default()),
            Discipline::Split => Self::Split(Split::default()),
            Discipline::Fair => Self::Fair(Fair::default()),
            Discipline::PClock => Self::PClock(PClock::default()),
            Discipline::Miser { rate_min, servers } => Self::Miser(Miser::new(rate_min, servers)),
        }
    }

    pub(super) fn get(&self) -> &dyn Order {
        match self {
            Self::Fifo(order) => order,
            Self::Split(order) => order,
            Self::Fair(order) => order,
            Self::PClock(order) => order,
            Self::Miser(order) => order,
        }
    }

    pub(super) fn get_mut(&mut self) -> &mut dyn Order {
        match self {
            Self::Fifo(order) => order,
            Self::Split(order) => order,
            Self::Fair(order) => order,
            Self::PClock(order) => order,
            Self::Miser(order) => order,
        }
    }
}
