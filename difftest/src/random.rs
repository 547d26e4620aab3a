//! Random numbers that are the same on every machine and in every year.

/// A generator of random numbers: SplitMix64 (Steele, Lea and Flood, "Fast splittable
/// pseudorandom number generators", 2014).
#[derive(Clone, Debug)]
pub struct Random {
    state: u64,
}

impl Random {
    /// The generator for one program: number `number` of a seed and a profile.
    #[must_use]
    pub fn new(seed: u64, profile: &str, number: u64) -> Self {
        let mut random = Self { state: seed };
        for byte in profile.bytes() {
            random.state = random.next() ^ u64::from(byte);
        }
        random.state = random.next() ^ number;
        random
    }

    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number below the bound, which is not zero.
    pub fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    /// True in so many of a hundred cases.
    pub fn percent(&mut self, chance: u32) -> bool {
        self.below(100) < chance as usize
    }

    /// One of the values.
    pub fn pick<T: Clone>(&mut self, values: &[T]) -> T {
        values[self.below(values.len())].clone()
    }

    /// One of the values, each with its weight.
    pub fn weighted<T: Copy>(&mut self, values: &[(T, u32)]) -> T {
        let total: u32 = values.iter().map(|(_, weight)| weight).sum();
        let mut point = self.below(total as usize) as u32;
        for &(value, weight) in values {
            if point < weight {
                return value;
            }
            point -= weight;
        }
        unreachable!("the point is below the total")
    }
}

#[cfg(test)]
mod tests {
    use super::Random;

    #[test]
    fn the_numbers_never_change() {
        let mut random = Random::new(1, "mixed", 0);
        let numbers: Vec<_> = (0..6).map(|_| random.below(1000)).collect();
        assert_eq!(numbers, [53, 657, 888, 465, 128, 752]);
    }
}
