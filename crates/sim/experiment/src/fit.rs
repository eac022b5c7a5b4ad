use crate::Setting;
use core::time::Duration;
use ripstop_delay::{Dice, ShiftedExponential};
use ripstop_estimator::{Sample, Window, WindowSettings};
use ripstop_model::{NodeId, Timestamp};

/// Samples for each chunk size.
const SAMPLES: u64 = 4000;

/// The delay model a policy is given: the node's own if it is one, else fitted to draws from it for
/// the chunk sizes of its classes, as one would fit it to a log.
pub(crate) fn fitted(setting: &Setting) -> ShiftedExponential {
    let node = &setting.nodes[0];
    if let Some(model) = node.delay.shifted_exponential() {
        return model;
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
    fit.expect("six sizes, thousands of samples each").literal
}
