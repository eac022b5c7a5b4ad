//! How long a node serves a chunk, from what is known of it.

use crate::task_log::read_log;
use anyhow::{Context as _, Result, ensure};
use ripstop_estimator::{LogRecord, parse_log};
use ripstop_placement::{Class, Service, planning::Observed};
use std::path::Path;

/// The moments of a node's service, and for which chunks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Measured {
    pub service: Service,
    /// The size of the chunks it was measured with; those of the classes if it is not known.
    pub chunk_bytes: Option<f64>,
    /// What of each service does not depend on the size, seconds.
    pub fixed_s: f64,
}

impl Measured {
    pub(crate) fn of_moments(mean: f64, sd: f64, third: Option<f64>) -> Result<Self> {
        ensure!(sd >= 0.0, "sd_s is {sd}");
        let service = Service::from_mean_sd(mean, sd, third)?;
        Ok(Self { service, chunk_bytes: None, fixed_s: 0.0 })
    }

    pub(crate) fn of_samples(seconds: &[f64]) -> Result<Self> {
        ensure!(seconds.iter().all(|&sample| sample > 0.0), "samples_s must be positive");
        let service = Service::from_samples(seconds)?;
        Ok(Self { service, chunk_bytes: None, fixed_s: 0.0 })
    }

    /// Of the finished reads of a task log; of one node's if one is named.
    pub(crate) fn of_log(path: &Path, node: Option<u16>) -> Result<Self> {
        let named = || format!("task log {}", path.display());
        let records = parse_log(&read_log(path)?).with_context(named)?;
        let its = records.iter().filter(|record| node.is_none_or(|id| record.node.0 == id));
        Self::of_records(its).with_context(named)
    }

    /// Of the finished reads among these.
    pub(crate) fn of_records<'a>(records: impl Iterator<Item = &'a LogRecord>) -> Result<Self> {
        let Observed { service, chunk_bytes } = Observed::of(records)?;
        Ok(Self { service, chunk_bytes, fixed_s: 0.0 })
    }
}

/// The service of a chunk of any class, as often as each is asked for: the planner takes chunks of
/// all classes to be served alike.
pub(crate) fn service(measured: &Measured, classes: &[Class]) -> Result<Service> {
    let Some(bytes) = measured.chunk_bytes else { return Ok(measured.service) };
    let fixed = measured.fixed_s;
    ensure!(
        (0.0..measured.service.mean()).contains(&fixed),
        "fixed_s is {fixed}, the mean service {}",
        measured.service.mean()
    );
    let asked = |class: &Class| class.rate * f64::from(class.k);
    let total: f64 = classes.iter().map(asked).sum();
    let (mut moments, mut weights) = ([0.0; 3], 0.0);
    for class in classes {
        let weight = if total > 0.0 { asked(class) / total } else { 1.0 };
        let factor = class.chunk_bytes as f64 / bytes;
        let one = measured.service.resized(fixed, factor).with_context(|| {
            format!("it cannot be resized from {bytes} to {} bytes", class.chunk_bytes)
        })?;
        let parts = [one.mean(), one.second(), one.third()];
        moments.iter_mut().zip(parts).for_each(|(sum, part)| *sum += weight * part);
        weights += weight;
    }
    let [mean, second, third] = moments.map(|sum| sum / weights);
    Ok(Service::new(mean, second, third)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_of_two_sizes_are_served_as_often_as_they_are_asked_for() {
        let class = |chunk_bytes, rate| Class {
            rate,
            files: 1,
            k: 1,
            chunk_bytes,
            survive_nodes: 0,
            survive_sites: 0,
            spread: false,
        };
        let mut measured = Measured::of_moments(1.0, 0.5, None).unwrap();
        measured.chunk_bytes = Some(100.0);
        let told = service(&measured, &[class(100, 3.0), class(300, 1.0)]).unwrap();
        assert!((told.mean() - 1.5).abs() < 1e-12);
        assert!((told.second() - (0.75 * 1.25 + 0.25 * 9.0 * 1.25)).abs() < 1e-12);
        measured.fixed_s = 0.8;
        let told = service(&measured, &[class(300, 1.0)]).unwrap();
        assert!((told.mean() - 1.4).abs() < 1e-12);
        measured.fixed_s = 2.0;
        assert!(service(&measured, &[class(300, 1.0)]).is_err());
    }
}
