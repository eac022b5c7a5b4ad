use libm::{log, pow, sqrt};
use ripstop_delay::Dice;
use ripstop_placement::Service;

/// A service time that can be drawn and has a node's three moments: a Gamma distribution, shifted.
///
/// Moments that lean left are drawn as if they did not lean. A draw is never below a hundredth of
/// the mean, which is rarely felt unless deviation and lean are large.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Law {
    shift: f64,
    shape: f64,
    scale: f64,
    least: f64,
}

/// The least skewness: below, the distribution is normal for all purposes here.
const SKEWNESS_MIN: f64 = 1e-3;

impl Law {
    /// With the moments of a service.
    pub fn new(service: &Service) -> Self {
        let (mean, second, third) = (service.mean(), service.second(), service.third());
        let sd = service.sd();
        let least = 0.01 * mean;
        if sd <= 1e-9 * mean {
            return Self { shift: mean, shape: 1.0, scale: 0.0, least };
        }
        let central = third - 3.0 * mean * second + 2.0 * mean * mean * mean;
        let skewness = (central / (sd * sd * sd)).max(SKEWNESS_MIN);
        let (shape, scale) = (4.0 / (skewness * skewness), 0.5 * sd * skewness);
        Self { shift: mean - shape * scale, shape, scale, least }
    }

    /// Seconds.
    pub fn draw(&self, dice: &mut Dice) -> f64 {
        (self.shift + self.scale * gamma(self.shape, dice)).max(self.least)
    }
}

/// Of scale 1: Marsaglia and Tsang, A Simple Method for Generating Gamma Variables (2000).
fn gamma(shape: f64, dice: &mut Dice) -> f64 {
    if shape < 1.0 {
        let power = pow(1.0 - dice.uniform(), 1.0 / shape);
        return gamma(shape + 1.0, dice) * power;
    }
    let d = shape - 1.0 / 3.0;
    let c = 1.0 / sqrt(9.0 * d);
    loop {
        let x = dice.normal();
        let v = 1.0 + c * x;
        if v <= 0.0 {
            continue;
        }
        let v = v * v * v;
        if log(1.0 - dice.uniform()) < 0.5 * x * x + d - d * v + d * log(v) {
            return d * v;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ripstop_placement::testbed;

    #[test]
    fn draws_have_the_moments() {
        let heavy = Service::from_mean_sd(1.0, 1.0, None).unwrap();
        let light = Service::from_mean_sd(2.0, 0.5, Some(9.6)).unwrap();
        for (service, seed) in [(testbed::service(), 1), (heavy, 2), (light, 3)] {
            let (law, mut dice) = (Law::new(&service), Dice::new(seed));
            let drawn: Vec<f64> = (0..400_000).map(|_| law.draw(&mut dice)).collect();
            let found = Service::from_samples(&drawn).unwrap();
            let near = |found: f64, wanted: f64, part: f64| {
                assert!((found / wanted - 1.0).abs() < part, "{found} for {wanted}");
            };
            near(found.mean(), service.mean(), 0.005);
            near(found.sd(), service.sd(), 0.01);
            near(found.third(), service.third(), 0.03);
        }
    }
}
