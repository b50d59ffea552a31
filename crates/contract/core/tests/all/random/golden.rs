//! The streams are part of the contract: the draws from a state never change.

use parades_core::random::{Empirical, LogNormal, Pareto, Rng, Uniform, Weibull, Zipf};
use parades_core::time::Delay;

/// A sampler that returns its draws as bit patterns.
type Sampler = Box<dyn Fn(&Rng) -> u64>;

/// Returns the first four draws of LP 7 under seed 42, and a hash of the first 100,000. Those include wedges,
/// tails and rejections.
fn golden(sample: &Sampler) -> [u64; 5] {
    let mut rng = Rng::stream(42, 7);
    let draws: Vec<u64> = (0..100_000).map(|_| sample(&mut rng)).collect();
    let fold = draws.iter().fold(0_u64, |fold, draw| (fold.rotate_left(5) ^ draw).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    [draws[0], draws[1], draws[2], draws[3], fold]
}

fn bits(sample: impl Fn(&Rng) -> f64 + 'static) -> Sampler {
    Box::new(move |rng| sample(rng).to_bits())
}

fn samplers() -> Vec<(&'static str, Sampler)> {
    let why = "the parameters are in bounds";
    let uniform = Uniform::new(-3.0, 5.0).expect(why);
    let pareto = Pareto::new(1500.0, 1.2).expect(why);
    let weibull = Weibull::new(60.0, 0.6).expect(why);
    let log_normal = LogNormal::new(1.0, 2.0).expect(why);
    let zipf = Zipf::new(1_000_000, 0.8).expect(why);
    let zipf_one = Zipf::new(1000, 1.0).expect(why);
    let empirical = Empirical::new(&[(100.0, 0.1), (1_500.0, 0.5), (1e6, 1.0)]).expect(why);
    vec![
        ("next_u64", Box::new(Rng::next_u64)),
        ("below", Box::new(|rng| rng.below(3 << 62))),
        ("range", Box::new(|rng| rng.range(10, 1_000_000_007))),
        ("unit", bits(Rng::unit)),
        ("unit_open", bits(Rng::unit_open)),
        ("chance", Box::new(|rng| u64::from(rng.chance(0.3)))),
        ("exponential", bits(Rng::exponential)),
        ("normal", bits(Rng::normal)),
        ("exponential_delay", Box::new(|rng| rng.exponential_delay(Delay::from_ms(10)).as_ps())),
        ("uniform_delay", Box::new(|rng| rng.uniform_delay(Delay::from_us(1), Delay::from_ms(3)).as_ps())),
        ("Uniform", bits(move |rng| uniform.sample(rng))),
        ("Pareto", bits(move |rng| pareto.sample(rng))),
        ("Weibull", bits(move |rng| weibull.sample(rng))),
        ("LogNormal", bits(move |rng| log_normal.sample(rng))),
        ("Zipf", Box::new(move |rng| zipf.sample(rng))),
        ("Zipf, exponent 1", Box::new(move |rng| zipf_one.sample(rng))),
        ("Empirical", bits(move |rng| empirical.sample(rng))),
    ]
}

/// The results of [`golden`], in the order of [`samplers`].
#[rustfmt::skip]
const GOLDEN: [[u64; 5]; 17] = [
    [0x52ce_5882_2a58_5ac8, 0x6adf_3131_d463_0fde, 0xc2fe_3c06_eae0_0afa, 0x0e21_c587_fa50_34e3, 0xce09_05a8_40a6_f5b1],
    [0x5027_64e5_5f4a_4be6, 0x923e_ad05_3028_083b, 0x0a99_5425_fbbc_27aa, 0xbf53_9e9b_86c0_1b20, 0xa4f4_d05a_5cf0_1b1a],
    [0x0000_0000_1347_9fe7, 0x0000_0000_18e2_0ef6, 0x0000_0000_2d66_7eaa, 0x0000_0000_034a_5407, 0x403e_53d3_eefc_fd5b],
    [0x3fd4_b396_208a_9616, 0x3fda_b7cc_4c75_18c2, 0x3fe8_5fc7_80dd_5c01, 0x3fac_438b_0ff4_a060, 0xb537_630f_4788_9f7b],
    [0x3fd4_b396_208a_9618, 0x3fda_b7cc_4c75_18c4, 0x3fe8_5fc7_80dd_5c02, 0x3fac_438b_0ff4_a070, 0xd980_106a_7cc7_f3db],
    [0x0000_0000_0000_0000, 0x0000_0000_0000_0000, 0x0000_0000_0000_0000, 0x0000_0000_0000_0001, 0xc996_6bea_91aa_5a75],
    [0x3fd1_e365_a47e_cd06, 0x3fd0_8966_7be7_ed23, 0x3fc4_bc17_d9d3_5b89, 0x3f9f_9aca_fb07_2fe0, 0xa3e8_fd41_1858_e764],
    [0x3fe5_6d49_493a_7477, 0x3fe6_8fd5_3c23_0dcc, 0xbfca_b10f_501c_108a, 0x3fb6_6c74_c386_62a6, 0xbf5f_0834_93d6_f2cf],
    [0x0000_0000_a698_f55b, 0x0000_0000_9a02_9ce9, 0x0000_0000_608d_bc27, 0x0000_0000_1265_7617, 0xe5a0_881e_ee75_88ff],
    [0x0000_0000_39e1_3255, 0x0000_0000_4aaf_104e, 0x0000_0000_8837_1ecb, 0x0000_0000_09ed_6696, 0x1c13_cbbb_f818_fab1],
    [0xbfda_634e_fbab_4f50, 0x3fd5_be62_63a8_c610, 0x4008_bf8f_01ba_b802, 0xc004_778e_9e01_6bf4, 0xa679_f355_c8f4_22bf],
    [0x409d_95af_2ec4_9f15, 0x409d_1190_f5fe_89f0, 0x409a_d32a_1146_24c4, 0x4098_0c52_408a_f30b, 0xb08c_a3a2_653a_c2d2],
    [0x401c_ad2a_e8f4_1bb1, 0x4019_2836_6f64_fe61, 0x4007_1b1a_0029_97c9, 0x3fc7_529f_fabe_1a43, 0x9cd8_44e1_1d95_e103],
    [0x4024_bed7_c9cc_2110, 0x4026_453f_1202_9ec4, 0x3ffc_a92d_07f6_4397, 0x4009_e8f1_4913_8b42, 0x45e5_6199_8a14_a1fb],
    [0x0000_0000_0002_778b, 0x0000_0000_0001_3ecc, 0x0000_0000_0000_06d2, 0x0000_0000_000b_acf9, 0xb5ef_c3e2_64d4_00a0],
    [0x0000_0000_0000_0058, 0x0000_0000_0000_002c, 0x0000_0000_0000_0003, 0x0000_0000_0000_0295, 0x7e17_0c74_6f1a_b154],
    [0x408b_90e9_109c_d77e, 0x4092_ec8d_d255_0ee8, 0x411f_fd0a_2e46_a706, 0x4059_0000_0000_0000, 0xf3b8_b5d1_f4f3_73ea],
];

#[test]
fn draws_never_change() {
    let samplers = samplers();
    assert_eq!(samplers.len(), GOLDEN.len());
    for ((name, sampler), expected) in samplers.iter().zip(GOLDEN) {
        let drawn = golden(sampler);
        assert!(drawn == expected, "{name} now draws {drawn:#018x?}");
    }
}

#[test]
fn derived_streams_never_change() {
    assert_eq!(Rng::stream(42, 7).state(), [0x02ae_e394_7ecc_feb0, 0xab5d_447b_3ba9_d715]);
    assert_eq!(Rng::substream(42, 7, 1).state(), [0xcc7a_ef3a_69b6_ca5b, 0x98d2_39d9_139a_b5c1]);
    assert_eq!(Rng::shared(42, 3).state(), [0xb799_0050_1549_7d1c, 0xcf9f_bad8_f861_90c1]);
}
