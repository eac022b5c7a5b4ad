use std::fmt;

/// Bytes of an address. With a block's number they fill two blocks of the hash.
pub const ADDRESS_LEN: usize = 28;

/// Bytes of an address with the number of a block.
const PLACE_LEN: usize = ADDRESS_LEN + 4;

/// What blocks are the blocks of, in the words of their owner: no two things of one store
/// may share one.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Address([u8; ADDRESS_LEN]);

impl Address {
    /// The address of these bytes, all of which tell it from others.
    pub const fn new(bytes: [u8; ADDRESS_LEN]) -> Self {
        Self(bytes)
    }

    /// Where block `number` is.
    pub(crate) fn of_block(&self, number: u32) -> [u8; PLACE_LEN] {
        let mut place = [0; PLACE_LEN];
        let (address, last) = place.split_at_mut(ADDRESS_LEN);
        address.copy_from_slice(&self.0);
        last.copy_from_slice(&number.to_le_bytes());
        place
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}
