use ripstop_figure::LatencyRecorder;

/// What came of a run, of the writes that came while it was measured.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// From coming to being answered.
    pub latency: LatencyRecorder,
    /// Answers of each writer, and the sum of their latencies in milliseconds.
    pub writers: Vec<(u64, f64)>,
    /// Batches that departed.
    pub batches: u64,
    /// Members that left in them.
    pub left: u64,
    /// Writes that were answered with them.
    pub answered: u64,
    /// Whether writes were refused, were not answered in time, or waited ever longer.
    pub is_saturated: bool,
    /// The mean interval of all writers when the run ended, in milliseconds.
    pub interval_ms: f64,
    /// How long was measured, in seconds.
    pub measured_s: f64,
}

impl Outcome {
    /// Jain's index of the writers' mean latencies; none if one has no answers.
    pub fn jain_latency(&self) -> Option<f64> {
        let means =
            self.writers.iter().map(|&(count, sum)| (count > 0).then(|| sum / count as f64));
        Some(jain(&means.collect::<Option<Vec<f64>>>()?))
    }

    /// Jain's index of the writers' answers.
    pub fn jain_answered(&self) -> f64 {
        jain(&self.writers.iter().map(|&(count, _)| count as f64).collect::<Vec<_>>())
    }

    /// What share of the answered writes left in a batch.
    pub fn left_share(&self) -> f64 {
        self.left as f64 / self.answered.max(1) as f64
    }
}

/// (Σx)² / (n·Σx²): 1 if all are equal, 1/n if one has everything.
fn jain(numbers: &[f64]) -> f64 {
    let (sum, squares) =
        numbers.iter().fold((0.0, 0.0), |(sum, squares), x| (sum + x, squares + x * x));
    sum * sum / (numbers.len() as f64 * squares)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jains_index_is_one_for_equals_and_one_nth_for_one_that_has_all() {
        assert!((jain(&[3.0, 3.0, 3.0]) - 1.0).abs() < 1e-12);
        assert!((jain(&[0.0, 5.0, 0.0, 0.0]) - 0.25).abs() < 1e-12);
    }
}
