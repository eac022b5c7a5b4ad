use crate::Setting;
use core::time::Duration;
use ripstop_delay::{Dice, ShiftedExponential};
use ripstop_estimator::{Sample, Window, WindowSettings};
use ripstop_model::{NodeId, Timestamp};

/// Samples for each chunk size.
const SAMPLES: u64 = 4000;

/// The delay model a policy is given: the first node's own if it is one, else fitted to draws from
/// it for the chunk sizes of its classes, as a gateway fits it to what it sees. Its scale is in it.
pub(crate) fn fitted(setting: &Setting) -> ShiftedExponential {
    let node = &setting.nodes[0];
    if let Some(model) = node.delay.shifted_exponential() {
        return model.scaled(node.scale);
    }
    let class = setting.classes[0];
    let (mut model, mut dice) = (node.delay.model(), Dice::new(0));
    let mut window = Window::new(WindowSettings::default());
    for number in 0..6 * SAMPLES {
        let bytes = class.bytes / (1 + number % 6);
        let delay = model.sample(class.operation.into(), bytes, &mut dice);
        let served: Duration = delay.mul_f64(node.scale);
        let (operation, node) = (class.operation, NodeId(0));
        window.add(Timestamp::ZERO, Sample { operation, node, bytes, served, finished: true });
    }
    let fit = window.fit(Timestamp::ZERO, class.operation);
    fit.expect("six sizes, thousands of samples each").model
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Delay;
    use ripstop_delay::Preset;
    use ripstop_model::{Code, Operation};
    use ripstop_policy::{Chunking, Load, PolicySettings, RequestClass, by_name};

    #[test]
    fn a_slower_node_has_a_slower_model() {
        for preset in [Preset::S3In2013A, Preset::S3In2025] {
            let mut setting = Setting::of_tofec(Delay::Preset(preset), 16);
            let model = fitted(&setting);
            setting.nodes[0].scale = 3.0;
            let slower = fitted(&setting);
            for (own, three) in [
                (model.shift_ms, slower.shift_ms),
                (model.shift_ms_per_mb, slower.shift_ms_per_mb),
                (model.mean_ms, slower.mean_ms),
                (model.mean_ms_per_mb, slower.mean_ms_per_mb),
            ] {
                assert!((three - 3.0 * own).abs() < 1e-4 * own, "{preset:?}: {own} and {three}");
            }
        }
    }

    #[test]
    fn what_is_given_is_what_a_policy_learns_from_the_same_tasks() {
        let setting = Setting::of_tofec(Delay::Preset(Preset::S3In2025), 16);
        let (mut model, mut dice) = (setting.nodes[0].delay.model(), Dice::new(0));
        let mut policy = by_name("tofec", &PolicySettings::default()).unwrap();
        let (operation, node) = (Operation::Read, NodeId(0));
        for number in 0..6 * SAMPLES {
            let bytes = 3_000_000 / (1 + number % 6);
            let served = model.sample(operation.into(), bytes, &mut dice);
            let sample = Sample { operation, node, bytes, served, finished: true };
            policy.learn(Timestamp::ZERO, &sample);
        }
        let (code, chunking) = (Code::new(120, 60).unwrap(), Chunking::Run);
        let class = RequestClass { operation, strip_bytes: 50_000, code, chunking };
        policy.choose(Timestamp::ZERO, &class, Load { lanes: 16, ..Load::default() });
        assert_eq!(policy.delay_model(operation), Some(fitted(&setting)));
    }
}
