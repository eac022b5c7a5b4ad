//! What a request comes to, its code chosen.

use super::parts::Parts;
use crate::{
    book::{Draft, Fragment, FragmentState, Mend, Read, Work, Write},
    face::{Request, RequestSpec},
};
use alloc::{vec, vec::Vec};
use ripstop_model::{Code, NodeId, Operation as Direction, StripSet};
use ripstop_policy::{Chunking, RequestClass};
use ripstop_scheduling::{FragmentIndex, NodeIndex};

/// Drafts a request: where its fragments are and how many tasks there are to be.
pub(super) fn draft(parts: &mut Parts, request: &Request) -> Draft {
    let strip_bytes = request.strip_bytes;
    match request.operation {
        RequestSpec::Read { k, wanted, ref places } => {
            let end = wanted.iter().last().map_or(0, |last| last + 1);
            let fragments = read_fragments(parts, places, end.max(usize::from(k)));
            let work = Work::Read(Read { wanted, have: StripSet::EMPTY });
            strips(parts, Direction::Read, strip_bytes, k, fragments, work)
        }
        RequestSpec::Write { n, k } => {
            let untried = Fragment::new(None, FragmentState::Untried);
            let fragments = fragments(parts, untried, usize::from(n));
            // What is stored once is nobody's group: it goes wherever there is least work.
            let group = parts.chooser.next_group().filter(|_| n > 1);
            let work = Work::Write(Write::new(group));
            strips(parts, Direction::Write, strip_bytes, k, fragments, work)
        }
        RequestSpec::ReadShared { n, k, node } => {
            let place = node.and_then(|id| parts.floor.find(id));
            let work = Work::Read(Read { wanted: StripSet::EMPTY, have: StripSet::EMPTY });
            let mut draft = runs(parts, Direction::Read, strip_bytes, (n, k), place, work);
            if node.is_none() {
                draft.fragments.iter_mut().for_each(|f| f.set(FragmentState::Lost));
            }
            draft
        }
        RequestSpec::WriteUnique { n, k } => {
            let work = Work::Write(Write::new(None));
            runs(parts, Direction::Write, strip_bytes, (n, k), None, work)
        }
        RequestSpec::Mend { fragment, node, ref taken } => {
            let (fragments, mend) = mend_fragments(parts, fragment, node, taken);
            let storage = Code::new(fragments.len(), 1);
            Draft { storage, ..Draft::new(strip_bytes, fragments, Work::Mend(mend)) }
        }
    }
}

/// The draft of a request whose strips are at nodes of their own.
fn strips(
    parts: &mut Parts,
    operation: Direction,
    strip_bytes: u32,
    k: u8,
    fragments: Vec<Fragment>,
    work: Work,
) -> Draft {
    let storage = Code::new(fragments.len(), usize::from(k));
    let mut draft =
        Draft { storage, k: usize::from(k), ..Draft::new(strip_bytes, fragments, work) };
    if let Ok(code) = storage {
        let class = RequestClass { operation, strip_bytes, code, chunking: Chunking::Strip };
        let load = parts.load();
        let choice = parts.policy.choose(parts.exit.now(), &class, load);
        draft.extra = choice.code.parity();
        draft.redundancy = choice.redundancy;
    }
    draft
}

/// The draft of a request whose chunks are runs of strips at one node.
fn runs(
    parts: &mut Parts,
    operation: Direction,
    strip_bytes: u32,
    (n, k): (u8, u8),
    place: Option<NodeIndex>,
    mut work: Work,
) -> Draft {
    let storage = Code::new(usize::from(n), usize::from(k));
    let Ok(code) = storage else {
        return Draft { storage, ..Draft::new(strip_bytes, Vec::new(), work) };
    };
    let class = RequestClass { operation, strip_bytes, code, chunking: Chunking::Run };
    let load = parts.load();
    let choice = parts.policy.choose(parts.exit.now(), &class, load);
    let k = class.k_below(choice.code.k());
    // What is to be durable is stored, whatever is quickest.
    let least = match work {
        Work::Write(_) => k + usize::from(parts.settings.answer_extra),
        Work::Read(_) | Work::Mend(_) => k,
    };
    let chosen = class.nearest(choice.code.n().max(least), k);
    let (chunks, state) = match &mut work {
        Work::Read(read) => {
            read.wanted = StripSet::first(chosen.k());
            // A node we were not told of may be back one day: not lost.
            let known = place.is_some();
            let state = if known { FragmentState::Untried } else { FragmentState::Refused };
            (class.n_max(chosen.k()), state)
        }
        Work::Write(_) | Work::Mend(_) => (chosen.n(), FragmentState::Untried),
    };
    let strips = (code.k() / chosen.k()) as u8;
    let bytes = strip_bytes.saturating_mul(u32::from(strips));
    let fragments = fragments(parts, Fragment::new(place, state), chunks);
    Draft {
        storage: Code::new(chunks, chosen.k()),
        strips,
        together: true,
        k: chosen.k(),
        extra: chosen.parity(),
        redundancy: choice.redundancy,
        ..Draft::new(bytes, fragments, work)
    }
}

/// This many fragments, all alike.
fn fragments(parts: &mut Parts, fragment: Fragment, count: usize) -> Vec<Fragment> {
    let mut fragments = parts.book.spare();
    fragments.resize(count, fragment);
    fragments
}

/// The fragments of a read, at least `len` of them.
fn read_fragments(parts: &mut Parts, places: &[Option<NodeId>], len: usize) -> Vec<Fragment> {
    let Parts { floor, book, .. } = parts;
    let missing = Fragment::new(None, FragmentState::Lost);
    let mut fragments = book.spare();
    fragments.extend(places.iter().map(|place| match place.map(|id| floor.find(id)) {
        None => missing,
        // A node we were not told of may be back one day: not lost.
        Some(None) => Fragment::new(None, FragmentState::Refused),
        Some(node) => Fragment::new(node, FragmentState::Untried),
    }));
    if fragments.len() < len {
        fragments.resize(len, missing);
    }
    fragments
}

/// The fragments of a mend, of which only the last is its own.
fn mend_fragments(
    parts: &Parts,
    fragment: u8,
    node: Option<NodeId>,
    taken: &[NodeId],
) -> (Vec<Fragment>, Mend) {
    let floor = &parts.floor;
    let none = Fragment::new(None, FragmentState::Refused);
    let mut fragments = vec![none; usize::from(fragment) + 1];
    let place = node.and_then(|id| floor.find(id));
    fragments[usize::from(fragment)] = Fragment::new(place, FragmentState::Untried);
    let former = taken.iter().filter_map(|&id| floor.find(id)).collect();
    let mend = Mend { fragment: FragmentIndex(fragment), anywhere: node.is_none(), former };
    (fragments, mend)
}
