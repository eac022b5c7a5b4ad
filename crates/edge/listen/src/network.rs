use std::{fmt, net::IpAddr, str::FromStr};
use thiserror::Error;

/// Addresses that begin with the same bits: `10.0.0.0/8`, or one address alone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Network {
    address: IpAddr,
    prefix: u8,
}

/// Text that is no network.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("{0:?} is neither an address nor a network such as 10.0.0.0/8 or fd00::/8")]
pub struct NetworkError(String);

impl Network {
    /// Whether the address is in it. An IPv4 address that came as IPv6 is what it was.
    pub fn contains(&self, address: IpAddr) -> bool {
        let (ours, bits) = bits(self.address);
        let (theirs, their_bits) = bits_of(address);
        let differ = u32::from(bits - self.prefix);
        bits == their_bits && (ours ^ theirs).checked_shr(differ).unwrap_or(0) == 0
    }
}

fn bits_of(address: IpAddr) -> (u128, u8) {
    bits(address.to_canonical())
}

/// The address as a number, and how many bits it has.
fn bits(address: IpAddr) -> (u128, u8) {
    match address {
        IpAddr::V4(address) => (address.to_bits().into(), 32),
        IpAddr::V6(address) => (address.to_bits(), 128),
    }
}

impl FromStr for Network {
    type Err = NetworkError;

    fn from_str(text: &str) -> Result<Self, NetworkError> {
        let wrong = || NetworkError(text.to_owned());
        let (address, prefix) = match text.split_once('/') {
            None => (text, None),
            Some((address, prefix)) => (address, Some(prefix)),
        };
        let address: IpAddr = address.parse().map_err(|_| wrong())?;
        let address = address.to_canonical();
        let (_, bits) = bits(address);
        let prefix = prefix.map_or(Ok(bits), |prefix| prefix.parse().map_err(|_| wrong()))?;
        if prefix > bits {
            return Err(wrong());
        }
        Ok(Self { address, prefix })
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.prefix)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_has_the_addresses_that_begin_as_it_does() {
        for (network, inside, outside) in [
            ("10.0.0.0/8", "10.255.1.2", "11.0.0.0"),
            ("192.168.1.7", "192.168.1.7", "192.168.1.8"),
            ("0.0.0.0/0", "203.0.113.9", "::1"),
            ("fd00::/8", "fdff::1", "fe00::1"),
            ("::/0", "2001:db8::1", "10.0.0.1"),
            ("10.0.0.0/8", "::ffff:10.1.1.1", "::ffff:11.1.1.1"),
        ] {
            let network: Network = network.parse().unwrap();
            assert!(network.contains(inside.parse().unwrap()), "{network} {inside}");
            assert!(!network.contains(outside.parse().unwrap()), "{network} {outside}");
        }
        for wrong in ["", "10.0.0.0/33", "::/129", "10.0.0/8", "host", "10.0.0.0/", "10.0.0.0/-1"] {
            let told = wrong.parse::<Network>().unwrap_err().to_string();
            assert!(told.starts_with(&format!("{wrong:?} is neither")), "{told}");
        }
    }
}
