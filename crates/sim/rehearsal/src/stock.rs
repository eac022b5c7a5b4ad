use ripstop_delay::Dice;
use ripstop_model::NodeId;
use ripstop_placement::moving::{Census, Spot};

/// Streams of random numbers that say which stripe is asked for; chunks and nodes use smaller ones.
const ASKED: u64 = 1 << 62;

/// A pool's stripes, one by one.
pub(crate) struct Stock {
    seed: u64,
    stripes: Vec<Stripe>,
}

/// Where a stripe is.
#[derive(Clone, Debug)]
pub(crate) struct Stripe {
    /// The node of each fragment, by index.
    pub nodes: Vec<Option<u16>>,
    /// How often it was written: what is moved meanwhile is of the one before.
    pub written: u64,
}

impl Stripe {
    /// How many fragments it should have.
    pub(crate) fn fragments(&self) -> u8 {
        self.nodes.len() as u8
    }

    pub(crate) fn spot(&self) -> Spot {
        Spot::new(self.fragments(), &self.nodes)
    }

    pub(crate) fn places(&self) -> Vec<Option<NodeId>> {
        self.nodes.iter().map(|node| node.map(NodeId)).collect()
    }
}

impl Stock {
    pub(crate) fn new(places: &[Vec<Option<NodeId>>], seed: u64) -> Self {
        let numbers = |nodes: &Vec<Option<NodeId>>| Stripe {
            nodes: nodes.iter().map(|node| node.map(|node| node.0)).collect(),
            written: 0,
        };
        Self { seed, stripes: places.iter().map(numbers).collect() }
    }

    /// The stripe that a request of this luck is about: any, and the same whatever else happens.
    pub(crate) fn asked(&self, luck: u64) -> usize {
        let mut dice = Dice::numbered(self.seed, ASKED + luck);
        dice.below(self.stripes.len() as u64) as usize
    }

    pub(crate) fn all(&self) -> &[Stripe] {
        &self.stripes
    }

    pub(crate) fn stripe_mut(&mut self, at: usize) -> &mut Stripe {
        &mut self.stripes[at]
    }

    /// A stripe is at these nodes from now on, written again.
    pub(crate) fn write(&mut self, at: usize, nodes: &[Option<NodeId>]) {
        let stripe = &mut self.stripes[at];
        let fragments = stripe.nodes.len();
        stripe.nodes = nodes.iter().map(|node| node.map(|node| node.0)).collect();
        stripe.nodes.resize(fragments, None);
        stripe.written += 1;
    }

    /// How many are where.
    pub(crate) fn census(&self) -> Census {
        Census::of(self.stripes.iter().map(Stripe::spot))
    }
}
