use ripstop_delay::{Preset, ShiftedExponential};
use serde::{Deserialize, Deserializer, de::Error};

/// An hour: no node is as slow as that.
const DELAY_MS_MAX: f64 = 3_600_000.0;

/// The delay model that a policy goes by.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct DelayModel(pub ShiftedExponential);

#[derive(Deserialize)]
#[serde(untagged)]
enum NumbersOrName {
    Numbers([f64; 4]),
    Name(String),
}

impl<'de> Deserialize<'de> for DelayModel {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let wanted = "[shift_ms, shift_ms_per_mb, mean_ms, mean_ms_per_mb], or the preset \
                      \"s3-2013-a\" or \"s3-2013-b\"";
        let [shift_ms, shift_ms_per_mb, mean_ms, mean_ms_per_mb] =
            match NumbersOrName::deserialize(from) {
                Ok(NumbersOrName::Numbers(numbers)) => numbers,
                Ok(NumbersOrName::Name(name)) => {
                    let preset = name.parse::<Preset>().ok();
                    let model = preset.and_then(Preset::shifted_exponential).map(Self);
                    return model.ok_or_else(|| Error::custom(format!("{name:?} is not {wanted}")));
                }
                Err(_) => return Err(Error::custom(format!("not {wanted}"))),
            };
        let model = ShiftedExponential { shift_ms, shift_ms_per_mb, mean_ms, mean_ms_per_mb };
        let parameters = [shift_ms, shift_ms_per_mb, mean_ms, mean_ms_per_mb];
        if !parameters.iter().all(|ms| (0.0..=DELAY_MS_MAX).contains(ms)) || mean_ms == 0.0 {
            let why = format!("all must be from 0 to {DELAY_MS_MAX}, and mean_ms more than 0");
            return Err(Error::custom(format!("{parameters:?}: {why}")));
        }
        Ok(Self(model))
    }
}
