//! How the operators of conditions compare.

use crate::pattern::{Pattern, Resolve};
use crate::when;
use alloc::string::String;
use alloc::vec::Vec;
use core::cmp::Ordering;
use core::net::IpAddr;

/// A number's or an instant's place beside another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Order {
    Equal,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl Order {
    const fn holds(self, ordering: Ordering) -> bool {
        match self {
            Self::Equal => ordering.is_eq(),
            Self::Less => ordering.is_lt(),
            Self::LessOrEqual => ordering.is_le(),
            Self::Greater => ordering.is_gt(),
            Self::GreaterOrEqual => ordering.is_ge(),
        }
    }
}

/// What values are compared as.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Text,
    TextIgnoringCase,
    TextLike,
    Number(Order),
    Instant(Order),
    Truth,
    Address,
    Arn,
}

/// A value of a condition, made ready to be compared.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Wanted {
    Text(Pattern),
    /// In lower case.
    TextIgnoringCase(Pattern),
    Number(f64, Order),
    Instant(i64, Order),
    Truth(bool),
    Range(Range),
    Arn(Vec<Pattern>),
}

/// Parts of an Amazon resource name, between colons.
const ARN_PARTS: usize = 6;

impl Wanted {
    /// `None` if `text` is nothing that could be compared so.
    pub(crate) fn read(kind: Kind, text: &str, variables: bool) -> Option<Self> {
        Some(match kind {
            Kind::Text => Self::Text(Pattern::literal(text, variables)),
            Kind::TextIgnoringCase => {
                Self::TextIgnoringCase(Pattern::literal(&lower(text, variables), variables))
            }
            Kind::TextLike => Self::Text(Pattern::new(text, variables)),
            Kind::Number(order) => {
                Self::Number(text.trim().parse().ok().filter(|it: &f64| it.is_finite())?, order)
            }
            Kind::Instant(order) => Self::Instant(when::parse(text)?, order),
            Kind::Truth => Self::Truth(truth(text)?),
            Kind::Address => Self::Range(Range::read(text)?),
            Kind::Arn => {
                let parts: Vec<_> = text.splitn(ARN_PARTS, ':').collect();
                let is_arn = parts.len() == ARN_PARTS || text == "*";
                let pattern = |part: &&str| Pattern::new(part, variables);
                is_arn.then(|| Self::Arn(parts.iter().map(pattern).collect()))?
            }
        })
    }

    /// Whether a request's value is what is wanted; not so if it cannot be compared.
    pub(crate) fn is_met(&self, value: &str, resolve: Resolve<'_>) -> bool {
        match self {
            Self::Text(pattern) => pattern.fits(value, resolve),
            Self::TextIgnoringCase(pattern) => {
                let resolve = |key: &str| resolve(key).map(|value| value.to_lowercase());
                pattern.fits(&value.to_lowercase(), &resolve)
            }
            Self::Number(number, order) => value
                .trim()
                .parse::<f64>()
                .ok()
                .and_then(|value| value.partial_cmp(number))
                .is_some_and(|ordering| order.holds(ordering)),
            Self::Instant(instant, order) => {
                when::parse(value).is_some_and(|value| order.holds(value.cmp(instant)))
            }
            Self::Truth(wanted) => truth(value) == Some(*wanted),
            Self::Range(range) => value.parse().is_ok_and(|address| range.contains(address)),
            Self::Arn(patterns) => {
                let parts = value.splitn(ARN_PARTS, ':');
                if let [any] = patterns.as_slice() {
                    return any.fits(value, resolve);
                }
                let parts: Vec<_> = parts.collect();
                parts.len() == ARN_PARTS
                    && parts.iter().zip(patterns).all(|(part, wanted)| wanted.fits(part, resolve))
            }
        }
    }

    /// Whether it is one fixed value, or a range of addresses that is not all there are.
    pub(crate) fn is_fixed(&self) -> bool {
        match self {
            Self::Text(pattern) | Self::TextIgnoringCase(pattern) => pattern.plain().is_some(),
            Self::Arn(patterns) => {
                // The account is what makes it somebody's.
                patterns.get(4).and_then(Pattern::plain).is_some_and(|account| !account.is_empty())
            }
            Self::Range(range) => !range.is_broad(),
            Self::Number(..) | Self::Instant(..) | Self::Truth(_) => false,
        }
    }
}

/// In lower case, but for the names of variables.
fn lower(text: &str, variables: bool) -> String {
    if !variables {
        return text.to_lowercase();
    }
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        let Some((name, left)) = after.split_once('}') else { break };
        out.push_str(&before.to_lowercase());
        out.push_str("${");
        out.push_str(name);
        out.push('}');
        rest = left;
    }
    out.push_str(&rest.to_lowercase());
    out
}

fn truth(text: &str) -> Option<bool> {
    let is = |word: &str| text.trim().eq_ignore_ascii_case(word);
    if is("true") { Some(true) } else { is("false").then_some(false) }
}

/// Addresses that begin alike.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Range {
    base: IpAddr,
    bits: u8,
}

impl Range {
    pub(crate) fn read(text: &str) -> Option<Self> {
        let (base, bits) = match text.split_once('/') {
            Some((base, bits)) => (base, Some(bits.parse::<u8>().ok()?)),
            None => (text, None),
        };
        let base: IpAddr = base.parse().ok()?;
        let max = if base.is_ipv4() { 32 } else { 128 };
        let bits = bits.unwrap_or(max);
        (bits <= max).then_some(Self { base, bits })
    }

    fn contains(self, address: IpAddr) -> bool {
        let same = |a: u128, b: u128, width: u32| {
            let free = width - u32::from(self.bits);
            free >= u128::BITS || a >> free == b >> free
        };
        match (self.base, address.to_canonical()) {
            (IpAddr::V4(a), IpAddr::V4(b)) => same(a.to_bits().into(), b.to_bits().into(), 32),
            (IpAddr::V6(a), IpAddr::V6(b)) => same(a.to_bits(), b.to_bits(), 128),
            (IpAddr::V4(_), IpAddr::V6(_)) | (IpAddr::V6(_), IpAddr::V4(_)) => false,
        }
    }

    /// Whether S3 counts it as everybody: broader than /8, or /32 of the longer addresses.
    const fn is_broad(self) -> bool {
        match self.base {
            IpAddr::V4(_) => self.bits < 8,
            IpAddr::V6(_) => self.bits < 32,
        }
    }
}
