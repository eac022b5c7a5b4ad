use core::fmt;
use serde::{Deserialize, Serialize};

/// A code (n,k): n pieces of equal size, any k of which suffice; 1 ≤ k ≤ n ≤ 255.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "(u8, u8)", into = "(u8, u8)")]
pub struct Code {
    n: u8,
    k: u8,
}

/// The pair is not a code.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CodeError {
    /// The n that was asked for.
    pub n: usize,
    /// The k that was asked for.
    pub k: usize,
}

impl fmt::Display for CodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({},{}) is not a code: 1 ≤ k ≤ n ≤ 255 must hold", self.n, self.k)
    }
}

impl core::error::Error for CodeError {}

impl TryFrom<(u8, u8)> for Code {
    type Error = CodeError;
    fn try_from((n, k): (u8, u8)) -> Result<Self, CodeError> {
        Self::new(n.into(), k.into())
    }
}

impl From<Code> for (u8, u8) {
    fn from(code: Code) -> Self {
        (code.n, code.k)
    }
}

impl Code {
    /// The code (n,k).
    pub const fn new(n: usize, k: usize) -> Result<Self, CodeError> {
        if 1 <= k && k <= n && n <= 255 {
            Ok(Self { n: n as u8, k: k as u8 })
        } else {
            Err(CodeError { n, k })
        }
    }

    /// All pieces.
    pub const fn n(self) -> usize {
        self.n as usize
    }

    /// Pieces that suffice.
    pub const fn k(self) -> usize {
        self.k as usize
    }

    /// Pieces that may be lost, n − k.
    pub const fn parity(self) -> usize {
        (self.n - self.k) as usize
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({},{})", self.n, self.k)
    }
}

impl fmt::Debug for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds() {
        for (n, k) in [(0, 0), (1, 0), (1, 2), (256, 1), (256, 256)] {
            assert_eq!(Code::new(n, k), Err(CodeError { n, k }));
        }
        for (n, k) in [(1, 1), (255, 1), (255, 255)] {
            assert_eq!(Code::new(n, k).map(|c| (c.n(), c.k())), Ok((n, k)));
        }
    }
}
