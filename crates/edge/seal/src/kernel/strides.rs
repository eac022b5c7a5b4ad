//! The loop that all vector kernels share. A module that invokes it has a `Vector` of `LANES`
//! blocks and a dozen operations on it.
//!
//! POLYVAL of n blocks is the sum of each block times a power of the key: the last times the first
//! power, the one before times the second. Twelve vectors make a stride. Each lane is summed for
//! itself, so that from one stride to the next all are multiplied by one power, the twelfth of as
//! many as there are lanes, and only at the end by powers of their own. Products are reduced once
//! for each stride. Of a product's three parts the middle one is Karatsuba's, the product of the
//! halves' sums, to which the other two are added once for each stride.

/// Vectors in a stride: with their keys and the sums of these they just fit the 32 registers of
/// AVX-512. Twelve are six per cent faster than eight, sixteen are slower.
pub(super) const VECTORS: usize = 12;

/// Bytes `at` and behind, as many as a vector has.
#[inline]
pub(super) fn window<const LEN: usize>(bytes: &[u8], at: usize) -> &[u8; LEN] {
    bytes[at..at + LEN].try_into().expect("as long as it was cut")
}

/// Defines `absorb`, which goes on with POLYVAL from `state` over `bytes`, which are whole blocks.
macro_rules! absorb {
    ($features:literal) => {
        /// Sums of products, not yet reduced.
        struct Sums {
            low: Vector,
            middle: Vector,
            high: Vector,
        }

        impl Sums {
            #[inline]
            #[target_feature(enable = $features)]
            fn zero() -> Self {
                Self { low: zero(), middle: zero(), high: zero() }
            }

            /// Adds the products of two blocks in each lane with powers. Of `halves`, the sums of
            /// the blocks' halves, the upper half counts.
            #[inline]
            #[target_feature(enable = $features)]
            fn add(&mut self, [a, b]: [Vector; 2], [ha, hb]: [Vector; 2], keys: [[Vector; 2]; 2]) {
                let [[ka, sa], [kb, sb]] = keys;
                self.low = sum(self.low, low(a, ka), low(b, kb));
                self.high = sum(self.high, high(a, ka), high(b, kb));
                self.middle = sum(self.middle, high(ha, sa), high(hb, sb));
            }

            #[inline]
            #[target_feature(enable = $features)]
            fn reduced(&self) -> Vector {
                let fold = numbers(FOLD);
                let middle = sum(self.middle, self.low, self.high);
                let middle = sum(middle, swapped(self.low), low(self.low, fold));
                sum(self.high, swapped(middle), low(middle, fold))
            }
        }

        #[inline]
        #[target_feature(enable = $features)]
        fn halves(vector: Vector) -> Vector {
            sum(vector, swapped(vector), zero())
        }

        #[target_feature(enable = $features)]
        pub(super) fn absorb(powers: &Powers, state: &mut Block, bytes: &[u8]) {
            const VECTOR_LEN: usize = LANES * BLOCK_LEN;
            const STRIDE_LEN: usize = VECTORS * VECTOR_LEN;
            // What is left for the end has a lane for each lane of what was summed.
            let strides = bytes.len().saturating_sub(VECTOR_LEN) / STRIDE_LEN;
            let (whole, rest) = bytes.split_at(strides * STRIDE_LEN);
            let mut carried = first_lane(state);
            if strides > 0 {
                carried = along(powers, carried, whole);
            }
            *state = end(powers, carried, rest);
        }

        /// Sums whole strides, lane by lane.
        #[inline]
        #[target_feature(enable = $features)]
        fn along(powers: &Powers, carried: Vector, bytes: &[u8]) -> Vector {
            const VECTOR_LEN: usize = LANES * BLOCK_LEN;
            const STRIDE_LEN: usize = VECTORS * VECTOR_LEN;
            let mut keys = [[zero(); 2]; VECTORS];
            for (at, key) in keys.iter_mut().enumerate() {
                let (powers, sums) = powers.from((VECTORS - at) * LANES);
                *key = [all_lanes(&powers[0]), all_lanes(&sums[0])];
            }
            let mut carried = carried;
            for stride in bytes.as_chunks::<STRIDE_LEN>().0 {
                let vector = |at: usize| load(window(stride, at * VECTOR_LEN));
                // Read half a block earlier, upper halves meet lower ones: memory is read more than
                // once so that the one unit that both multiplies and moves halves is left to
                // multiplying.
                let halves_at = |at: usize, vector| {
                    let earlier = load(window(stride, at * VECTOR_LEN - BLOCK_LEN / 2));
                    sum(vector, earlier, zero())
                };
                let mut sums = Sums::zero();
                for at in (2..VECTORS).step_by(2) {
                    let (a, b) = (vector(at), vector(at + 1));
                    let halves = [halves_at(at, a), halves_at(at + 1, b)];
                    sums.add([a, b], halves, [keys[at], keys[at + 1]]);
                }
                // Last what waits for the stride before.
                let (a, b) = (sum(vector(0), carried, zero()), vector(1));
                sums.add([a, b], [halves(a), halves_at(1, b)], [keys[0], keys[1]]);
                carried = sums.reduced();
            }
            carried
        }

        /// Multiplies the last blocks, less than a stride and a vector, by powers of their own.
        #[inline]
        #[target_feature(enable = $features)]
        fn end(powers: &Powers, carried: Vector, bytes: &[u8]) -> Block {
            const VECTOR_LEN: usize = LANES * BLOCK_LEN;
            let (powers, sums) = powers.from(bytes.len() / BLOCK_LEN);
            let (powers, power_sums) = (powers.as_flattened(), sums.as_flattened());
            let mut carried = carried;
            let mut sums = Sums::zero();
            for at in (0..bytes.len()).step_by(VECTOR_LEN) {
                let left = &bytes[at..];
                let found = match left.first_chunk() {
                    Some(whole) => load(whole),
                    None => load_part(left),
                };
                let vector = sum(found, carried, zero());
                carried = zero();
                let keys = [load(window(powers, at)), load(window(power_sums, at))];
                let nothing = [zero(), zero()];
                sums.add([vector, zero()], [halves(vector), zero()], [keys, nothing]);
            }
            lanes_added(sum(carried, sums.reduced(), zero()))
        }
    };
}
pub(super) use absorb;
