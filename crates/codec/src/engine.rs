use std::{fmt, sync::OnceLock};

/// The environment variable that forces an engine by name.
pub(crate) const ENGINE_VARIABLE: &str = "RIPSTOP_CODEC_ENGINE";

/// The instructions that do the arithmetic. All engines give the same bytes.
///
/// A value of this type proves that this processor has the instructions, so its holder may
/// use it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Engine(Instructions);

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Instructions {
    Naive,
    Scalar,
    #[cfg(target_arch = "x86_64")]
    Ssse3,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "x86_64")]
    Avx2Gfni,
    #[cfg(target_arch = "x86_64")]
    Avx512,
    #[cfg(target_arch = "x86_64")]
    Avx512Gfni,
    #[cfg(target_arch = "aarch64")]
    Neon,
}

/// The engine asked for cannot be had.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum EngineError {
    /// No engine has this name on any processor.
    #[error("no codec engine is called {name:?}: there are {}", NAMES.join(", "))]
    Unknown {
        /// The name that was asked for.
        name: String,
    },
    /// The engine exists, but this processor lacks its instructions.
    #[error("this processor cannot run the codec engine {name:?}")]
    Unsupported {
        /// The name that was asked for.
        name: String,
    },
}

const NAMES: [&str; 8] =
    ["naive", "scalar", "ssse3", "avx2", "avx2-gfni", "avx512", "avx512-gfni", "neon"];

/// Slowest first.
const COMPILED: &[Instructions] = &[
    Instructions::Naive,
    Instructions::Scalar,
    #[cfg(target_arch = "x86_64")]
    Instructions::Ssse3,
    #[cfg(target_arch = "x86_64")]
    Instructions::Avx2,
    #[cfg(target_arch = "x86_64")]
    Instructions::Avx512,
    #[cfg(target_arch = "x86_64")]
    Instructions::Avx2Gfni,
    #[cfg(target_arch = "x86_64")]
    Instructions::Avx512Gfni,
    #[cfg(target_arch = "aarch64")]
    Instructions::Neon,
];

impl Engine {
    /// Logarithms, byte by byte: the reference every other engine must equal.
    pub const NAIVE: Self = Self(Instructions::Naive);

    /// Tables of products, byte by byte: runs everywhere.
    pub const SCALAR: Self = Self(Instructions::Scalar);

    /// The engines this processor can run, slowest first.
    pub fn available() -> impl Iterator<Item = Self> {
        COMPILED.iter().copied().filter(|instructions| instructions.detected()).map(Self)
    }

    /// The fastest engine this processor can run.
    pub fn best() -> Self {
        Self::available().last().unwrap_or(Self::SCALAR)
    }

    /// The engine of this name: `naive`, `scalar`, `ssse3`, `avx2`, `avx2-gfni`, `avx512`,
    /// `avx512-gfni` or `neon`.
    pub fn by_name(name: &str) -> Result<Self, EngineError> {
        if let Some(engine) = Self::available().find(|engine| engine.name() == name) {
            return Ok(engine);
        }
        let name = name.to_owned();
        if NAMES.contains(&name.as_str()) {
            Err(EngineError::Unsupported { name })
        } else {
            Err(EngineError::Unknown { name })
        }
    }

    /// The engine that the environment variable `RIPSTOP_CODEC_ENGINE` names, or the best one if
    /// it is unset or empty. It is read once; later changes have no effect.
    pub fn chosen() -> Result<Self, EngineError> {
        static CHOSEN: OnceLock<Result<Engine, EngineError>> = OnceLock::new();
        CHOSEN
            .get_or_init(|| match std::env::var_os(ENGINE_VARIABLE) {
                Some(name) if !name.is_empty() => Self::by_name(&name.to_string_lossy()),
                Some(_) | None => Ok(Self::best()),
            })
            .clone()
    }

    /// The name by which [`Engine::by_name`] finds this engine.
    pub const fn name(self) -> &'static str {
        match self.0 {
            Instructions::Naive => "naive",
            Instructions::Scalar => "scalar",
            #[cfg(target_arch = "x86_64")]
            Instructions::Ssse3 => "ssse3",
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx2 => "avx2",
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx2Gfni => "avx2-gfni",
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx512 => "avx512",
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx512Gfni => "avx512-gfni",
            #[cfg(target_arch = "aarch64")]
            Instructions::Neon => "neon",
        }
    }

    pub(crate) const fn instructions(self) -> Instructions {
        self.0
    }
}

impl Instructions {
    /// Whether this processor has every instruction the kernel is compiled with.
    fn detected(self) -> bool {
        match self {
            Self::Naive | Self::Scalar => true,
            #[cfg(target_arch = "x86_64")]
            Self::Ssse3 => is_x86_feature_detected!("ssse3"),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => is_x86_feature_detected!("avx2"),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2Gfni => is_x86_feature_detected!("avx2") && is_x86_feature_detected!("gfni"),
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => {
                is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512bw")
            }
            #[cfg(target_arch = "x86_64")]
            Self::Avx512Gfni => Self::Avx512.detected() && is_x86_feature_detected!("gfni"),
            #[cfg(target_arch = "aarch64")]
            Self::Neon => std::arch::is_aarch64_feature_detected!("neon"),
        }
    }
}

impl fmt::Display for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_available_engine_is_found_by_its_name() {
        for engine in Engine::available() {
            assert_eq!(Engine::by_name(engine.name()), Ok(engine));
            assert!(NAMES.contains(&engine.name()));
        }
        assert!(Engine::available().any(|engine| engine == Engine::NAIVE));
        assert!(Engine::available().any(|engine| engine == Engine::best()));
    }

    #[test]
    fn what_cannot_be_had_is_told_apart() {
        let error = Engine::by_name("abacus").unwrap_err();
        assert_eq!(error, EngineError::Unknown { name: "abacus".into() });
        assert!(error.to_string().contains("avx2-gfni"), "{error}");
        let foreign = if cfg!(target_arch = "aarch64") { "avx2" } else { "neon" };
        let error = Engine::by_name(foreign).unwrap_err();
        assert_eq!(error, EngineError::Unsupported { name: foreign.into() });
    }
}
