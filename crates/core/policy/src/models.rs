use crate::Sample;
use alloc::boxed::Box;
use ripstop_delay::ShiftedExponential;
use ripstop_estimator::{Window, WindowSettings};
use ripstop_model::{Operation, Timestamp};

/// Samples after which a learned model is fitted again.
const RENEW_EVERY: u32 = 2048;

/// The delay model of each direction: given, or learned from the tasks.
#[derive(Debug)]
pub(crate) enum Models {
    Given(ShiftedExponential),
    Learned {
        window: Box<Window>,
        /// Samples since the last fit.
        fresh: u32,
        /// By direction.
        models: [Option<ShiftedExponential>; 2],
    },
}

impl Models {
    pub(crate) fn new(given: Option<ShiftedExponential>) -> Self {
        match given {
            Some(model) => Self::Given(model),
            None => Self::Learned {
                window: Box::new(Window::new(WindowSettings::default())),
                fresh: 0,
                models: [None; 2],
            },
        }
    }

    pub(crate) fn of(&self, operation: Operation) -> Option<ShiftedExponential> {
        match self {
            Self::Given(model) => Some(*model),
            Self::Learned { models, .. } => models[operation as usize],
        }
    }

    pub(crate) fn learn(&mut self, now: Timestamp, sample: &Sample) {
        if let Self::Learned { window, fresh, .. } = self {
            window.add(now, *sample);
            *fresh += 1;
        }
    }

    /// Fits again if there is enough that is new; true if a model changed.
    pub(crate) fn renew(&mut self, now: Timestamp) -> bool {
        let Self::Learned { window, fresh, models } = self else { return false };
        if *fresh < RENEW_EVERY {
            return false;
        }
        *fresh = 0;
        let mut changed = false;
        for operation in Operation::ALL {
            let fitted = window.fit(now, operation).map(|fit| fit.model);
            let model = &mut models[operation as usize];
            // A model that was good enough once is better than none.
            if fitted.is_some() && fitted != *model {
                *model = fitted;
                changed = true;
            }
        }
        changed
    }
}
