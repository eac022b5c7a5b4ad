/// A moving average by count: each new value takes the same share of it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Ewma {
    memory: f64,
    mean: f64,
}

impl Ewma {
    /// Starts at `start`. `memory`, 0 to 1, is the weight of the old average: 0 follows the last value,
    /// 0.99 the last hundred or so.
    pub const fn new(memory: f64, start: f64) -> Self {
        Self { memory: memory.clamp(0.0, 1.0), mean: start }
    }

    /// Takes in `value`; the average after that.
    pub const fn add(&mut self, value: f64) -> f64 {
        self.mean = self.memory * self.mean + (1.0 - self.memory) * value;
        self.mean
    }

    /// The average.
    pub const fn mean(&self) -> f64 {
        self.mean
    }
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "these numbers have no rounding error")]
mod tests {
    use super::*;

    #[test]
    fn the_old_average_has_the_memorys_weight() {
        let mut average = Ewma::new(0.75, 8.0);
        assert_eq!(average.add(0.0), 6.0);
        assert_eq!(average.add(10.0), 7.0);
        assert_eq!(average.mean(), 7.0);
        assert_eq!(Ewma::new(0.0, 3.0).add(5.0), 5.0);
        assert_eq!(Ewma::new(7.0, 3.0).add(5.0), 3.0);
    }
}
