//! Failure domains: how many chunks of a file a site and a vendor may hold.

use crate::{Class, PlanError, Problem, StorageNode, StorageNodeState};
use alloc::{vec, vec::Vec};

/// More ways than this to share chunks among sites are refused.
const SHAPES_MAX: usize = 1024;

/// Sites and vendors, one inside the other: a node is in an inner domain, that in an outer one.
pub(crate) struct Domains {
    /// Inner domain of each node.
    pub(crate) inner_of: Vec<usize>,
    /// Outer domain of each inner one.
    pub(crate) outer_of: Vec<usize>,
    /// How many outer domains.
    pub(crate) outers: usize,
    /// Whether sites are the inner domains.
    sites_inside: bool,
}

/// One way to meet a class's promises: exactly `n` chunks, and no domain above its cap.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Shape {
    pub(crate) n: usize,
    /// Of each inner domain.
    pub(crate) inner: Vec<usize>,
    /// Of each outer domain.
    pub(crate) outer: Vec<usize>,
}

impl Domains {
    pub(crate) fn new(nodes: &[StorageNode]) -> Result<Self, PlanError> {
        let dense = |key: fn(&StorageNode) -> u16| {
            let mut names: Vec<u16> = nodes.iter().map(key).collect();
            names.sort_unstable();
            names.dedup();
            let of: Vec<usize> =
                nodes.iter().map(|node| names.partition_point(|&name| name < key(node))).collect();
            (names, of)
        };
        let (sites, site_of) = dense(|node| node.site);
        let (vendors, vendor_of) = dense(|node| node.vendor);
        // Where each inner domain lies, unless it lies in two outer ones.
        let nest = |inner_of: &[usize], inners: usize, outer_of: &[usize]| {
            let mut nest = vec![usize::MAX; inners];
            for (&inner, &outer) in inner_of.iter().zip(outer_of) {
                if nest[inner] != usize::MAX && nest[inner] != outer {
                    return Err(inner);
                }
                nest[inner] = outer;
            }
            Ok(nest)
        };
        match nest(&site_of, sites.len(), &vendor_of) {
            Ok(outer_of) => {
                Ok(Self { inner_of: site_of, outer_of, outers: vendors.len(), sites_inside: true })
            }
            Err(shared) => match nest(&vendor_of, vendors.len(), &site_of) {
                Ok(outer_of) => Ok(Self {
                    inner_of: vendor_of,
                    outer_of,
                    outers: sites.len(),
                    sites_inside: false,
                }),
                Err(_) => Err(PlanError::CrossingDomains { site: sites[shared] }),
            },
        }
    }

    /// How many of the usable nodes each (inner, outer) domain has.
    fn sizes(&self, usable: &[bool]) -> (Vec<usize>, Vec<usize>) {
        let (mut inner, mut outer) = (vec![0; self.outer_of.len()], vec![0; self.outers]);
        for (&domain, _) in self.inner_of.iter().zip(usable).filter(|&(_, &usable)| usable) {
            inner[domain] += 1;
            outer[self.outer_of[domain]] += 1;
        }
        (inner, outer)
    }

    /// Every way worth trying to meet a class's promises with the usable nodes: a placement meets
    /// them exactly if some chunks of it can be left out so that it has one of these shapes.
    pub(crate) fn shapes(
        &self,
        problem: &Problem,
        at: usize,
        usable: &[bool],
    ) -> Result<Vec<Shape>, PlanError> {
        let class = &problem.classes[at];
        let count = usable.iter().filter(|&&usable| usable).count();
        let (k, needed) = (class.k as usize, class.k as usize + class.survive_nodes as usize);
        if count < needed {
            return Err(PlanError::MissingNodes { class: at, needed, usable: count });
        }
        let (mut inner, mut outer) = self.sizes(usable);
        if class.spread {
            inner.iter_mut().chain(&mut outer).for_each(|cap| *cap = (*cap).min(k - 1));
        }
        let mut shapes = Vec::new();
        let mut reached = 0;
        for n in needed..=count {
            let mut caps = Vec::new();
            let sites = if self.sites_inside { &inner } else { &outer };
            share(sites, class.survive_sites as usize, n - k, &mut caps);
            for sites in caps {
                let shape = if self.sites_inside {
                    Shape { n, inner: sites, outer: outer.clone() }
                } else {
                    Shape { n, inner: inner.clone(), outer: sites }
                };
                let room = self.room(&shape);
                reached = reached.max(room.min(n));
                let covered = |other: &Shape| {
                    shape.inner.iter().zip(&other.inner).all(|(mine, other)| mine <= other)
                        && shape.outer.iter().zip(&other.outer).all(|(mine, other)| mine <= other)
                };
                if room >= n && !shapes.iter().any(covered) {
                    if shapes.len() == SHAPES_MAX {
                        let survive_sites = class.survive_sites;
                        return Err(PlanError::TooManyWays {
                            class: at,
                            limit: SHAPES_MAX,
                            survive_sites,
                        });
                    }
                    shapes.push(shape);
                }
            }
        }
        if shapes.is_empty() {
            return Err(missing_sites(class, at, needed, reached));
        }
        Ok(shapes)
    }

    /// How many chunks fit under a shape's caps.
    fn room(&self, shape: &Shape) -> usize {
        let mut within = vec![0; self.outers];
        for (&cap, &outer) in shape.inner.iter().zip(&self.outer_of) {
            within[outer] += cap;
        }
        within.iter().zip(&shape.outer).map(|(&within, &cap)| within.min(cap)).sum()
    }

    /// Whether chunks at these nodes keep a class's promises.
    pub(crate) fn admits(&self, class: &Class, nodes: &[u16]) -> bool {
        let k = class.k as usize;
        let (mut inner, mut outer) = (vec![0; self.outer_of.len()], vec![0; self.outers]);
        for &node in nodes {
            let domain = self.inner_of[usize::from(node)];
            inner[domain] += 1;
            outer[self.outer_of[domain]] += 1;
        }
        let spread = !class.spread || inner.iter().chain(&outer).all(|&count| count < k);
        let mut sites = if self.sites_inside { inner } else { outer };
        sites.sort_unstable_by(|a, b| b.cmp(a));
        let lost: usize = sites.iter().take(class.survive_sites as usize).sum();
        spread && nodes.len() >= k + lost && nodes.len() >= k + class.survive_nodes as usize
    }
}

fn missing_sites(class: &Class, at: usize, needed: usize, reached: usize) -> PlanError {
    PlanError::MissingSites {
        class: at,
        needed: needed.max(reached + 1),
        reached,
        survive_sites: class.survive_sites,
        spread: class.spread,
    }
}

/// Which nodes of a problem take new chunks.
pub(crate) fn usable(problem: &Problem) -> Vec<bool> {
    problem.nodes.iter().map(|node| node.state == StorageNodeState::Up).collect()
}

/// All the largest ways to cap the sites, of the given sizes, so that any `lost` of them together
/// hold at most `spare`.
fn share(sizes: &[usize], lost: usize, spare: usize, caps: &mut Vec<Vec<usize>>) {
    if lost == 0 {
        caps.push(sizes.to_vec());
        return;
    }
    let mut chosen = vec![usize::MAX; sizes.len()];
    deal(sizes, lost, spare, spare, &mut chosen, caps);
}

/// Gives the next of the `lost` largest caps, at most `most`, to each site in turn; the last of
/// them is the cap of all sites without one.
fn deal(
    sizes: &[usize],
    lost: usize,
    spare: usize,
    most: usize,
    chosen: &mut [usize],
    caps: &mut Vec<Vec<usize>>,
) {
    // More than this many are refused anyway, and each n adds its own.
    if caps.len() > SHAPES_MAX {
        return;
    }
    if lost == 1 || chosen.iter().all(|&cap| cap != usize::MAX) {
        let rest = spare.min(most);
        let cap_of =
            |(&size, &cap): (&usize, &usize)| size.min(if cap == usize::MAX { rest } else { cap });
        let all: Vec<usize> = sizes.iter().zip(&*chosen).map(cap_of).collect();
        if !caps.contains(&all) {
            caps.push(all);
        }
        return;
    }
    for cap in spare.div_ceil(lost)..=most.min(spare) {
        for site in 0..sizes.len() {
            if chosen[site] == usize::MAX {
                chosen[site] = cap;
                deal(sizes, lost - 1, spare - cap, cap, chosen, caps);
                chosen[site] = usize::MAX;
            }
        }
    }
}
