/// Whether a bucket keeps what its keys have stood for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Versioning {
    /// It never has: a key has the null version, or none.
    #[default]
    Never,
    /// What is put gets an id, and so does a deletion.
    Enabled,
    /// What is put takes the place of the null version; versions with ids stay.
    Suspended,
}
