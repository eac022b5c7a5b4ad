//! The cheapest placement of a class at given prices: n nodes that store a chunk, k of which serve
//! it.

use crate::domain::{Domains, Shape};
use alloc::{vec, vec::Vec};

/// What a node does for a class.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Role {
    /// Nothing.
    Idle,
    /// Stores a chunk and serves every request.
    Serves,
    /// Stores a chunk in reserve.
    Stores,
}

/// Prices of the nodes and the room to choose in.
pub(crate) struct Chooser {
    /// Price of storing, of each node.
    pub(crate) store: Vec<f64>,
    /// Price of serving, of each node, besides.
    pub(crate) serve: Vec<f64>,
    /// What each node does in the placement last chosen.
    pub(crate) roles: Vec<Role>,
    trial: Vec<Role>,
}

impl Chooser {
    pub(crate) fn new(nodes: usize) -> Self {
        Self {
            store: vec![0.0; nodes],
            serve: vec![0.0; nodes],
            roles: vec![Role::Idle; nodes],
            trial: vec![Role::Idle; nodes],
        }
    }

    /// Chooses among `nodes` the cheapest placement that has one of the shapes, and gives its
    /// price; infinite if there is none.
    pub(crate) fn choose(
        &mut self,
        domains: &Domains,
        shapes: &[Shape],
        k: usize,
        nodes: &[u16],
    ) -> f64 {
        let mut least = f64::INFINITY;
        for shape in shapes.iter().filter(|shape| shape.n <= nodes.len()) {
            self.pick_freely(shape.n, k, nodes);
            if !domains.fits(shape, &self.trial, nodes) {
                let mut flow = Flow::new(domains, shape, k);
                if !flow.run(&self.store, &self.serve, nodes, &mut self.trial) {
                    continue;
                }
            }
            let price = self.price(nodes);
            if price < least {
                least = price;
                core::mem::swap(&mut self.roles, &mut self.trial);
            }
        }
        least
    }

    fn price(&self, nodes: &[u16]) -> f64 {
        nodes
            .iter()
            .map(|&node| usize::from(node))
            .map(|node| match self.trial[node] {
                Role::Idle => 0.0,
                Role::Stores => self.store[node],
                Role::Serves => self.store[node] + self.serve[node],
            })
            .sum()
    }

    /// The cheapest placement without regard to domains: first the k cheapest servers, then, one by
    /// one, either the cheapest store or a server more, whose place the dearest server's reserve
    /// takes.
    fn pick_freely(&mut self, n: usize, k: usize, nodes: &[u16]) {
        let Self { store, serve, trial: roles, .. } = self;
        for &node in nodes {
            roles[usize::from(node)] = Role::Idle;
        }
        let indices = || nodes.iter().map(|&node| usize::from(node));
        for _ in 0..k {
            let mut best = (f64::INFINITY, usize::MAX);
            for node in indices() {
                let price = store[node] + serve[node];
                if roles[node] == Role::Idle && price < best.0 {
                    best = (price, node);
                }
            }
            roles[best.1] = Role::Serves;
        }
        for _ in k..n {
            let mut cheapest = (f64::INFINITY, f64::INFINITY, usize::MAX);
            let mut server = (f64::INFINITY, usize::MAX);
            let mut dearest = (f64::NEG_INFINITY, usize::MAX);
            for node in indices() {
                match roles[node] {
                    Role::Idle => {
                        if (store[node], serve[node]) < (cheapest.0, cheapest.1) {
                            cheapest = (store[node], serve[node], node);
                        }
                        if store[node] + serve[node] < server.0 {
                            server = (store[node] + serve[node], node);
                        }
                    }
                    Role::Serves if serve[node] > dearest.0 => dearest = (serve[node], node),
                    Role::Serves | Role::Stores => {}
                }
            }
            if server.0 - dearest.0 < cheapest.0 {
                roles[server.1] = Role::Serves;
                roles[dearest.1] = Role::Stores;
            } else {
                roles[cheapest.2] = Role::Stores;
            }
        }
    }
}

impl Domains {
    fn fits(&self, shape: &Shape, roles: &[Role], nodes: &[u16]) -> bool {
        let within = |domain: &dyn Fn(usize) -> usize, cap: &[usize]| {
            (0..cap.len()).all(|at| {
                let used = nodes.iter().map(|&node| usize::from(node));
                used.filter(|&node| roles[node] != Role::Idle && domain(node) == at).count()
                    <= cap[at]
            })
        };
        within(&|node| self.inner_of[node], &shape.inner)
            && within(&|node| self.outer_of[self.inner_of[node]], &shape.outer)
    }
}

/// Successive shortest paths in the network roles → nodes → inner domains → outer domains → sink,
/// which is exact. Vertices: 0 and 1 the two roles, then the inner domains, the outer ones, the
/// sink.
struct Flow<'a> {
    domains: &'a Domains,
    shape: &'a Shape,
    k: usize,
    inner: Vec<usize>,
    outer: Vec<usize>,
    cost: Vec<f64>,
    /// By which vertex, and which node, the path comes to a vertex.
    from: Vec<(usize, usize)>,
    /// By how much of the largest price a way must be shorter to count as shorter.
    slack: f64,
}

const SERVERS: usize = 0;
const STORES: usize = 1;
const NONE: usize = usize::MAX;

/// An arc's price and the node it goes through.
type Arc = (f64, usize);

/// An arc: from, to, price, node.
type FlowArc = (usize, usize, f64, usize);

impl<'a> Flow<'a> {
    fn new(domains: &'a Domains, shape: &'a Shape, k: usize) -> Self {
        let vertices = 3 + shape.inner.len() + shape.outer.len();
        Self {
            domains,
            shape,
            k,
            inner: vec![0; shape.inner.len()],
            outer: vec![0; shape.outer.len()],
            cost: vec![0.0; vertices],
            from: vec![(NONE, NONE); vertices],
            slack: 1e-13,
        }
    }

    fn run(&mut self, store: &[f64], serve: &[f64], nodes: &[u16], roles: &mut [Role]) -> bool {
        for &node in nodes {
            roles[usize::from(node)] = Role::Idle;
        }
        let mut left = [self.k, self.shape.n - self.k];
        for _ in 0..self.shape.n {
            let arcs = self.arcs(store, serve, nodes, roles);
            let mut path = self.shortest(&arcs, left);
            while path.is_none() && self.slack < 1e-6 {
                self.slack *= 1000.0;
                path = self.shortest(&arcs, left);
            }
            let Some(&(start, ..)) = path.as_ref().and_then(|path| path.last()) else {
                return false;
            };
            self.augment(&path.unwrap_or_default(), roles);
            left[start] -= 1;
        }
        true
    }

    /// The best arcs: (from, to, price, node).
    fn arcs(&self, store: &[f64], serve: &[f64], nodes: &[u16], roles: &[Role]) -> Vec<FlowArc> {
        let inners = self.inner.len();
        let none: Arc = (f64::INFINITY, NONE);
        // Into and out of each inner domain by each role, then from role to role.
        let mut best = vec![[none; 4]; inners];
        let mut swap = [none; 2];
        let lower = |arc: &mut Arc, price: f64, node: usize| {
            if price < arc.0 {
                *arc = (price, node);
            }
        };
        for node in nodes.iter().map(|&node| usize::from(node)) {
            let arcs = &mut best[self.domains.inner_of[node]];
            let (price, more) = (store[node], serve[node]);
            match roles[node] {
                Role::Idle => {
                    lower(&mut arcs[0], price + more, node);
                    lower(&mut arcs[1], price, node);
                }
                Role::Serves => {
                    lower(&mut arcs[2], -price - more, node);
                    lower(&mut swap[1], -more, node);
                }
                Role::Stores => {
                    lower(&mut arcs[3], -price, node);
                    lower(&mut swap[0], more, node);
                }
            }
        }
        let mut all =
            vec![(SERVERS, STORES, swap[0].0, swap[0].1), (STORES, SERVERS, swap[1].0, swap[1].1)];
        let sink = 2 + inners + self.outer.len();
        for (at, arcs) in best.iter().enumerate() {
            let (here, above) = (2 + at, 2 + inners + self.domains.outer_of[at]);
            all.push((SERVERS, here, arcs[0].0, arcs[0].1));
            all.push((STORES, here, arcs[1].0, arcs[1].1));
            all.push((here, SERVERS, arcs[2].0, arcs[2].1));
            all.push((here, STORES, arcs[3].0, arcs[3].1));
            if self.inner[at] < self.shape.inner[at] {
                all.push((here, above, 0.0, NONE));
            }
            if self.inner[at] > 0 {
                all.push((above, here, 0.0, NONE));
            }
        }
        for (at, &used) in self.outer.iter().enumerate() {
            if used < self.shape.outer[at] {
                all.push((2 + inners + at, sink, 0.0, NONE));
            }
        }
        all.retain(|arc| arc.2.is_finite());
        all
    }

    /// The shortest path, by Bellman and Ford, from a role that wants more nodes to the sink: its
    /// arcs from the last to the first, none if there is no way; nothing if rounding errors of
    /// earlier paths have made a cycle that looks profitable.
    fn shortest(
        &mut self,
        arcs: &[FlowArc],
        left: [usize; 2],
    ) -> Option<Vec<(usize, usize, usize)>> {
        self.cost.fill(f64::INFINITY);
        self.from.fill((NONE, NONE));
        for (role, &left) in left.iter().enumerate() {
            if left > 0 {
                self.cost[role] = 0.0;
            }
        }
        let slack = self.slack * arcs.iter().fold(0.0, |most, arc| f64::max(most, arc.2.abs()));
        for _ in 0..self.cost.len() {
            let mut changed = false;
            for &(from, to, price, node) in arcs {
                if self.cost[from] + price < self.cost[to] - slack {
                    self.cost[to] = self.cost[from] + price;
                    self.from[to] = (from, node);
                    changed = true;
                }
            }
            if !changed {
                break;
            }
        }
        let mut path = Vec::new();
        let mut at = self.cost.len() - 1;
        while self.from[at].0 != NONE {
            let (from, node) = self.from[at];
            path.push((from, at, node));
            at = from;
            if path.len() > self.cost.len() {
                return None;
            }
        }
        Some(path)
    }

    /// Applies a path.
    fn augment(&mut self, path: &[(usize, usize, usize)], roles: &mut [Role]) {
        let outer = 2 + self.inner.len();
        let sink = outer + self.outer.len();
        for &(from, to, node) in path.iter().rev() {
            match (from, to) {
                (_, to) if to == sink => self.outer[from - outer] += 1,
                (from, to) if to >= outer => self.inner[from - 2] += 1,
                (from, to) if from >= outer => self.inner[to - 2] -= 1,
                (SERVERS, _) => roles[node] = Role::Serves,
                (STORES, _) => roles[node] = Role::Stores,
                _ => roles[node] = Role::Idle,
            }
        }
    }
}
