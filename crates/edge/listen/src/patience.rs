use std::{fmt, sync::Arc, time::Duration};

/// How short the memory is that slow peers hold: 0 where there is plenty, 1 where others wait for
/// it.
#[derive(Clone)]
pub struct Pressure(Arc<dyn Fn() -> f64 + Send + Sync>);

impl Pressure {
    /// Asks `now` whenever a peer is waited for: must be quick.
    pub fn new(now: impl Fn() -> f64 + Send + Sync + 'static) -> Self {
        Self(Arc::new(now))
    }

    /// From 0 to 1, whatever was answered.
    fn now(&self) -> f64 {
        let now = (self.0)();
        if now.is_nan() { 0.0 } else { now.clamp(0.0, 1.0) }
    }
}

impl Default for Pressure {
    /// None, ever.
    fn default() -> Self {
        Self::new(|| 0.0)
    }
}

impl fmt::Debug for Pressure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Pressure").field(&self.now()).finish()
    }
}

/// Pressure up to this changes nothing.
const PRESSURE_FROM: f64 = 0.5;
/// How long peers are waited for at full pressure.
const WAIT_PRESSED: Duration = Duration::from_secs(2);
/// Least pace at full pressure, bytes per second: half a megabit.
const PACE_PRESSED: f64 = 65536.0;

/// How slow a peer may be.
#[derive(Clone, Debug)]
pub struct Pace {
    /// Longest wait for a peer that does nothing. At full pressure two seconds, if that is less.
    pub wait_max: Duration,
    /// Fewest bytes a second; waits up to [`Pace::wait_max`] are forgiven. 0: no least pace. At
    /// full pressure 64 KiB, if that is more.
    pub bytes_per_s_min: u64,
    /// Makes both stricter.
    pub pressure: Pressure,
}

impl Pace {
    /// The longest wait and the fewest bytes a second at this moment.
    fn now(&self) -> (Duration, f64) {
        let above = (self.pressure.now() - PRESSURE_FROM) / (1.0 - PRESSURE_FROM);
        let min = self.bytes_per_s_min as f64;
        if above <= 0.0 {
            return (self.wait_max, min);
        }
        let wait = self.wait_max.mul_f64(1.0 - above) + WAIT_PRESSED.mul_f64(above);
        // With its third power: a little pressure is a hint, full pressure means it.
        (wait.min(self.wait_max), min.max(PACE_PRESSED * above.powi(3)))
    }
}

/// What is left of the time that a peer may keep us waiting. Bytes that move give back what they
/// take at the least pace. Only time spent waiting counts: a peer is not slow because we are.
#[derive(Clone, Debug)]
pub struct Patience {
    pace: Pace,
    spent: Duration,
}

impl Patience {
    /// How often somebody who waits looks whether the pressure has changed.
    pub const LOOK_EVERY: Duration = Duration::from_secs(1);

    /// Patience that nothing was spent of.
    pub const fn new(pace: Pace) -> Self {
        Self { pace, spent: Duration::ZERO }
    }

    /// From now on bytes must move at this pace, if not at a higher one.
    pub fn hurry(&mut self, bytes_per_s_min: u64) {
        self.pace.bytes_per_s_min = self.pace.bytes_per_s_min.max(bytes_per_s_min);
    }

    /// How much longer to wait; zero once the peer is too slow.
    pub fn left(&self) -> Duration {
        self.pace.now().0.saturating_sub(self.spent)
    }

    /// The peer was waited for.
    pub fn waited(&mut self, time: Duration) {
        self.spent = self.spent.saturating_add(time);
    }

    /// Bytes came from the peer, or it took some.
    pub fn moved(&mut self, bytes: u64) {
        if self.spent.is_zero() || bytes == 0 {
            return;
        }
        let earned = Duration::try_from_secs_f64(bytes as f64 / self.pace.now().1);
        self.spent = earned.map_or(Duration::ZERO, |earned| self.spent.saturating_sub(earned));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn patience(pressure: f64) -> Patience {
        let pressure = Pressure::new(move || pressure);
        Patience::new(Pace { wait_max: 30 * SECOND, bytes_per_s_min: 1000, pressure })
    }

    #[test]
    fn patience_is_spent_by_waiting_and_earned_by_bytes() {
        let mut patience = patience(0.0);
        assert_eq!(patience.left(), 30 * SECOND);
        patience.waited(20 * SECOND);
        assert_eq!(patience.left(), 10 * SECOND);
        patience.moved(5000);
        assert_eq!(patience.left(), 15 * SECOND);
        patience.moved(1 << 40);
        assert_eq!(patience.left(), 30 * SECOND, "what was quick earns no slowness later");
        patience.waited(40 * SECOND);
        assert_eq!(patience.left(), Duration::ZERO);
    }

    #[test]
    fn one_byte_now_and_then_is_too_slow() {
        let mut patience = patience(0.0);
        let mut lasted = 0;
        while !patience.left().is_zero() {
            patience.waited(SECOND);
            patience.moved(1);
            lasted += 1;
            assert!(lasted < 40);
        }
    }

    #[test]
    fn without_a_least_pace_any_byte_is_enough() {
        let pace = Pace { wait_max: SECOND, bytes_per_s_min: 0, pressure: Pressure::default() };
        let mut patience = Patience::new(pace);
        patience.waited(SECOND);
        assert_eq!(patience.left(), Duration::ZERO);
        patience.moved(1);
        assert_eq!(patience.left(), SECOND);
    }

    #[test]
    fn pressure_shortens_waits_and_raises_the_pace() {
        assert_eq!(patience(0.5).left(), 30 * SECOND);
        assert_eq!(patience(0.75).left(), 16 * SECOND);
        assert_eq!(patience(1.0).left(), 2 * SECOND);
        assert_eq!(patience(7.0).left(), 2 * SECOND);
        assert_eq!(patience(f64::NAN).left(), 30 * SECOND);
        let mut pressed = patience(1.0);
        pressed.waited(2 * SECOND);
        pressed.moved(65536);
        assert_eq!(pressed.left(), SECOND);
    }
}
