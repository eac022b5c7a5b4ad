//! Reed–Solomon over GF(2^8), from naive to the fastest the processor has.
