/// How long a day of a rule is. Rules count whole ones since 1970, so a standard day ends at
/// midnight, UTC.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Day {
    /// Never 0.
    ms: u64,
}

impl Day {
    /// The day of the calendar.
    pub const STANDARD: Self = Self { ms: 86_400_000 };

    /// One of this many milliseconds, of which there is at least one.
    pub const fn of_ms(ms: u64) -> Self {
        Self { ms: if ms == 0 { 1 } else { ms } }
    }

    /// The end of the day in which so many days after a time have passed, in milliseconds since
    /// 1970.
    pub const fn ends_after(self, from_ms: u64, days: u32) -> u64 {
        let passed_ms = from_ms.saturating_add(self.ms.saturating_mul(days as u64));
        passed_ms.div_ceil(self.ms).saturating_mul(self.ms)
    }
}
