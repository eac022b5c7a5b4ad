//! Settings of a bucket about lists and the public, as they are stored: words.

/// Who owns what others put into a bucket, and whether lists mean anything there.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ObjectOwnership {
    /// `BucketOwnerEnforced`: the bucket's owner, whatever lists say: there are none.
    #[default]
    Enforced,
    /// `BucketOwnerPreferred`: the bucket's owner, if whoever puts it grants them everything.
    Preferred,
    /// `ObjectWriter`: whoever puts it.
    Writer,
    /// The same, and nothing is said of it.
    Unsaid,
}

/// How it is stored that nothing is said.
const UNSAID: &str = "-";

impl ObjectOwnership {
    /// S3's words.
    const WORDS: [(&'static str, Self); 3] = [
        ("BucketOwnerEnforced", Self::Enforced),
        ("BucketOwnerPreferred", Self::Preferred),
        ("ObjectWriter", Self::Writer),
    ];

    /// What S3's word means.
    pub(crate) fn named(word: &str) -> Option<Self> {
        Self::WORDS.iter().find(|(known, _)| *known == word).map(|(_, it)| *it)
    }

    /// S3's word, if it is said.
    pub(crate) fn word(self) -> Option<&'static str> {
        Self::WORDS.iter().find(|(_, it)| *it == self).map(|(word, _)| *word)
    }

    /// As it is stored; what is enforced is not.
    pub(crate) fn stored(self) -> Option<&'static str> {
        self.has_lists().then(|| self.word().unwrap_or(UNSAID))
    }

    /// What was stored.
    pub(crate) fn from_stored(text: &str) -> Self {
        if text == UNSAID { Self::Unsaid } else { Self::named(text).unwrap_or_default() }
    }

    /// Whether lists are looked at.
    pub(crate) const fn has_lists(self) -> bool {
        !matches!(self, Self::Enforced)
    }
}

/// What of the public a bucket's owner wants none of.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct PublicAccessBlock {
    /// In the order of the names.
    flags: [bool; 4],
}

impl PublicAccessBlock {
    /// S3's names, in its order.
    pub(crate) const NAMES: [&'static str; 4] =
        ["BlockPublicAcls", "IgnorePublicAcls", "BlockPublicPolicy", "RestrictPublicBuckets"];

    /// Of flags in the order of the names.
    pub(crate) const fn of(flags: [bool; 4]) -> Self {
        Self { flags }
    }

    /// In the order of the names.
    pub(crate) const fn flags(self) -> [bool; 4] {
        self.flags
    }

    /// No list that lets the public in is taken.
    pub(crate) const fn blocks_lists(self) -> bool {
        self.flags[0]
    }

    /// What lists grant to the public is not heeded.
    pub(crate) const fn ignores_lists(self) -> bool {
        self.flags[1]
    }

    /// No policy that lets the public in is taken.
    pub(crate) const fn blocks_policy(self) -> bool {
        self.flags[2]
    }

    /// A policy that lets the public in lets in the bucket's own account alone.
    pub(crate) const fn restricts(self) -> bool {
        self.flags[3]
    }

    /// As it is stored: the names of the flags that are set.
    pub(crate) fn stored(self) -> String {
        let set = Self::NAMES.into_iter().zip(self.flags).filter(|(_, flag)| *flag);
        set.map(|(name, _)| name).collect::<Vec<_>>().join(" ")
    }

    /// What was stored.
    pub(crate) fn from_stored(text: &str) -> Self {
        Self::of(Self::NAMES.map(|name| text.split(' ').any(|word| word == name)))
    }
}
