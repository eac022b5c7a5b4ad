use crate::{Sealing, fragment::body_len};
use ripstop_model::{Code, Layout, StripeShape};
use std::ops::Range;

/// How the strips of one stripe lie in its fragments: fragment `j` is a run of strips, `j·run` and
/// those after it, one behind the other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cut {
    /// Runs of one strip, N of them, each at another node.
    Spread,
    /// One run of all N strips.
    Shared,
    /// Some runs, all at one node.
    Unique {
        /// Strips in each.
        run: u8,
        /// How many there are.
        fragments: u8,
    },
}

impl Cut {
    /// The cut of a stripe of this storage code whose `fragments` of `run` strips each are at one
    /// node, or, if `run` is 0, whose strips are at nodes of their own; `None` if there is no such.
    pub fn new(code: Code, run: u8, fragments: usize) -> Option<Self> {
        let (n, k, length) = (code.n(), code.k(), usize::from(run));
        if length == 0 {
            return (fragments == n).then_some(Self::Spread);
        }
        if length == n && fragments == 1 {
            return Some(Self::Shared);
        }
        let strips = length * fragments;
        let whole = k.is_multiple_of(length) && (k..=n).contains(&strips);
        whole.then_some(Self::Unique { run, fragments: fragments as u8 })
    }

    /// The cut of a stripe that a pool of this layout writes, `tasks` being the code chosen for its
    /// chunks.
    pub(crate) fn chosen(layout: Layout, storage: Code, tasks: Code) -> Option<Self> {
        match layout {
            Layout::Spread => Some(Self::Spread),
            Layout::Shared => Some(Self::Shared),
            Layout::Unique => Self::new(storage, (storage.k() / tasks.k()) as u8, tasks.n()),
        }
    }

    /// As a number in records and headers: strips in each fragment where all are at one node, else
    /// 0.
    pub fn number(self, code: Code) -> u8 {
        match self {
            Self::Spread => 0,
            Self::Shared => code.n() as u8,
            Self::Unique { run, .. } => run,
        }
    }

    /// Strips in each fragment.
    pub fn run(self, code: Code) -> usize {
        match self {
            Self::Spread => 1,
            Self::Shared => code.n(),
            Self::Unique { run, .. } => run.into(),
        }
    }

    /// How many fragments there are.
    pub fn fragments(self, code: Code) -> usize {
        match self {
            Self::Spread => code.n(),
            Self::Shared => 1,
            Self::Unique { fragments, .. } => fragments.into(),
        }
    }

    /// Fragments that suffice to make the others.
    pub fn needed(self, shape: StripeShape) -> usize {
        match self {
            Self::Spread => shape.needed(),
            Self::Shared => 1,
            Self::Unique { run, .. } => shape.needed().div_ceil(run.into()),
        }
    }

    /// Whether all fragments are at one node. Each then ends with its header once more: few others,
    /// or none, could say what a damaged header said.
    pub fn is_together(self) -> bool {
        match self {
            Self::Spread => false,
            Self::Shared | Self::Unique { .. } => true,
        }
    }

    /// Strips that are stored, from the first on.
    pub(crate) fn stored(self, code: Code) -> usize {
        self.run(code) * self.fragments(code)
    }

    /// The strips of a fragment.
    pub(crate) fn strips_of(self, code: Code, fragment: u8) -> Range<usize> {
        let (run, fragment) = (self.run(code), usize::from(fragment));
        fragment * run..(fragment + 1) * run
    }

    /// The fragment that a strip is in, and how many strips come before it there.
    pub(crate) fn place_of(self, code: Code, strip: usize) -> (u8, usize) {
        let run = self.run(code);
        ((strip / run) as u8, strip % run)
    }

    /// Bytes of each fragment, headers included.
    pub(crate) fn fragment_len(self, shape: StripeShape, header_len: u32, sealing: Sealing) -> u64 {
        let headers = if self.is_together() { 2 } else { 1 };
        let strip = u64::from(body_len(shape, sealing));
        let body = self.run(shape.code()) as u64 * strip;
        headers * u64::from(header_len) + body
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuts_survive_their_numbers_and_cover_the_data_strips() {
        let code = Code::new(24, 12).unwrap();
        let mut cuts = vec![Cut::Spread, Cut::Shared];
        for (run, fragments) in [(12, 1), (12, 2), (4, 3), (4, 6), (1, 12), (1, 24)] {
            cuts.push(Cut::Unique { run, fragments });
        }
        for cut in cuts {
            assert_eq!(Cut::new(code, cut.number(code), cut.fragments(code)), Some(cut));
            assert!((12..=24).contains(&cut.stored(code)), "{cut:?}");
            for strip in 0..cut.stored(code) {
                let (fragment, before) = cut.place_of(code, strip);
                assert_eq!(cut.strips_of(code, fragment).nth(before), Some(strip), "{cut:?}");
            }
        }
    }

    #[test]
    fn what_is_no_cut_is_none() {
        let code = Code::new(24, 12).unwrap();
        for (run, fragments) in
            [(0, 1), (0, 23), (5, 4), (24, 2), (12, 3), (4, 2), (1, 25), (1, 11)]
        {
            assert_eq!(Cut::new(code, run, fragments), None, "{run} {fragments}");
        }
    }

    #[test]
    fn one_fragment_of_all_strips_is_shared_whatever_wrote_it() {
        let code = Code::new(12, 12).unwrap();
        let one = Code::new(1, 1).unwrap();
        assert_eq!(Cut::chosen(Layout::Unique, code, one), Some(Cut::Shared));
    }
}
