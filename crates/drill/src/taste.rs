//! What clients of a drill ask for, and how often. Each drill has a taste of its own: where all is
//! asked for equally often, what harms only together seldom meets.

use ripstop_delay::Dice;

/// What a client asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// An object, whatever is there.
    Put,
    /// An object, if there is none.
    PutIfAbsent,
    /// An object in the place of a certain one.
    PutIfSame,
    /// An object that is kept for a while, or until it is freed.
    PutLocked,
    /// An object's bytes, or some of them.
    Get,
    /// What is known of an object.
    Head,
    /// A key's deletion.
    Delete,
    /// Deletions of several keys.
    DeleteMany,
    /// All keys of a bucket.
    List,
    /// A copy of an object.
    Copy,
    /// An object in parts.
    Multipart,
    /// An object's tags, set.
    Tag,
    /// … and shown.
    SeeTag,
    /// The bytes of a certain version.
    SeeVersion,
    /// A certain version's deletion.
    DeleteVersion,
    /// A version's legal hold, set or taken away.
    Hold,
    /// Whether everybody may read a bucket.
    Open,
    /// A read by nobody in particular.
    ReadUnsigned,
}

/// Each kind, and how often in a hundred or so it is asked for where nothing else is said.
const USUAL: [(Kind, u64); 18] = [
    (Kind::Put, 30),
    (Kind::PutIfAbsent, 4),
    (Kind::PutIfSame, 4),
    (Kind::PutLocked, 2),
    (Kind::Get, 14),
    (Kind::Head, 4),
    (Kind::Delete, 8),
    (Kind::DeleteMany, 4),
    (Kind::List, 6),
    (Kind::Copy, 6),
    (Kind::Multipart, 5),
    (Kind::Tag, 4),
    (Kind::SeeTag, 3),
    (Kind::SeeVersion, 3),
    (Kind::DeleteVersion, 3),
    (Kind::Hold, 1),
    (Kind::Open, 1),
    (Kind::ReadUnsigned, 2),
];
/// By how much a kind is asked for more often than usual, as often as each other.
const FACTORS: [u64; 4] = [0, 1, 1, 4];

/// How long objects are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sizes {
    /// From nothing to several stripes.
    All,
    /// All are packed.
    Small,
    /// Most are of a stripe or more.
    Large,
}

/// What clients of a drill like.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Taste {
    /// How long a client thinks between requests on average, milliseconds.
    pub thinks_ms: u64,
    /// How many keys of each bucket are asked for.
    pub keys: u64,
    /// How long objects are.
    pub sizes: Sizes,
    /// Of a hundred objects this many are encrypted by the gateway.
    pub encrypted: u64,
    /// … are to be in the other class of storage.
    pub cold: u64,
    /// How long a day of buckets' rules is, milliseconds, after which objects go; 0 without rules.
    pub day_ms: u64,
    /// How often each kind is asked for, beside the others.
    pub often: Vec<(Kind, u64)>,
}

fn of<T: Copy>(dice: &mut Dice, all: &[T]) -> T {
    all[dice.below(all.len() as u64) as usize]
}

impl Taste {
    pub(crate) fn draw(dice: &mut Dice) -> Self {
        let is_usual = dice.below(4) == 0;
        let often = USUAL.into_iter().map(|(kind, usual)| {
            let factor = of(dice, &FACTORS);
            let factor = if is_usual { 1 } else { factor };
            (kind, usual * if kind == Kind::Put { factor.max(1) } else { factor })
        });
        let often = often.collect();
        let keys = of(dice, &[1, 2, 3, 7, 7]);
        Self {
            thinks_ms: of(dice, &[0, 5, 20, 60]),
            keys,
            sizes: of(dice, &[Sizes::All, Sizes::All, Sizes::Small, Sizes::Small, Sizes::Large]),
            encrypted: of(dice, &[0, 0, 50]),
            cold: of(dice, &[0, 30]),
            day_ms: of(dice, &[0, 0, 0, 0, 100, 1500]),
            often,
        }
    }

    /// What comes next.
    pub(crate) fn next(&self, dice: &mut Dice) -> Kind {
        let all = self.often.iter().map(|(_, often)| often).sum();
        let mut left = dice.below(all);
        for &(kind, often) in &self.often {
            if left < often {
                return kind;
            }
            left -= often;
        }
        Kind::Put
    }
}
