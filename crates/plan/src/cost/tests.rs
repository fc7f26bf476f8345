use super::*;

/// The studies' cost rows as their tables have them: study, configuration, metric, unit, value.
/// Written down from the printed text, apart from the code.
#[expect(clippy::approx_constant, reason = "a price of 3.14 USD")]
const PRINTED: [(&str, &str, &str, &str, f64); 31] = [
    ("cruzer", "one drive", "street price", "USD", 20.0),
    ("cruzer", "array against SSDs", "cost relative to most current SSDs (less than)", "fraction", 0.5),
    ("eide", "Maxtor Maxline II", "cost per GB", "USD/GB", 0.75),
    ("eide", "Western Digital WD2500JB", "cost per GB", "USD/GB", 0.61),
    ("eide", "Maxtor MaXLine Plus II", "cost per GB", "USD/GB", 0.69),
    ("eide", "Maxtor MaXLine Plus III SATA", "cost per GB", "USD/GB", 0.77),
    ("eide", "Seagate Barracuda SATA", "cost per GB", "USD/GB", 0.63),
    ("eide", "Hitachi DeskStar 7K400", "cost per GB", "USD/GB", 1.10),
    ("eide", "IDE disks (less than)", "price", "USD/GB", 1.0),
    ("eide", "commodity IDE arrays", "parts cost", "USD/TB", 2_000.0),
    ("eide", "base system", "cost", "USD", 1_400.0),
    ("eide", "software RAID5, 8 disks", "cost over base", "USD", 2_300.0),
    ("eide", "software RAID5, 8 disks", "total cost", "USD", 3_700.0),
    ("eide", "software RAID5, 8 disks", "cost per TB", "USD/TB", 1_850.0),
    ("eide", "hardware RAID5, 12 disks", "cost over base", "USD", 3_800.0),
    ("eide", "hardware RAID5, 12 disks", "total cost", "USD", 5_200.0),
    ("eide", "hardware RAID5, 12 disks", "cost per TB", "USD/TB", 1_890.0),
    ("eide", "FC-AL PCI card", "price", "USD", 500.0),
    ("eide", "16-port fabric switch", "price", "USD", 15_000.0),
    ("eide", "16-port fabric switch", "ports", "count", 16.0),
    ("eide", "commercial systems, low", "price ratio to own array", "ratio", 1.5),
    ("eide", "commercial systems, high (over)", "price ratio to own array", "ratio", 18.0),
    ("eide", "Apple Xserve RAID", "capacity", "TB", 3.5),
    ("eide", "Apple Xserve RAID", "price per GB", "USD/GB", 3.14),
    ("eide", "Dell EMC CX200", "price per GB", "USD/GB", 9.05),
    ("eide", "HP StorageWorks 1000", "capacity", "TB", 2.1),
    ("eide", "HP StorageWorks 1000", "price per GB", "USD/GB", 11.39),
    ("eide", "IBM FASt200 3542-1R", "capacity", "TB", 2.1),
    ("eide", "IBM FASt200 3542-1R", "price per GB", "USD/GB", 24.71),
    ("eide", "Sun StorEdge 6120", "capacity", "TB", 2.04),
    ("eide", "Sun StorEdge 6120", "price per GB", "USD/GB", 36.57),
];

#[test]
fn every_printed_cost_figure_comes_out() {
    let figures = published_cost_figures();
    for (study, configuration, metric, unit, value) in PRINTED {
        let found = figures.iter().find(|figure| {
            (figure.study, figure.configuration, figure.metric, figure.unit) == (study, configuration, metric, unit)
        });
        let figure = found.unwrap_or_else(|| panic!("{study}: {configuration}, {metric} is missing"));
        assert!((figure.published - value).abs() < 1e-9, "{configuration}, {metric}: printed as {value}");
        assert!(figure.agrees(), "{figure:?}");
    }
}

#[test]
fn derived_figures_are_what_their_sums_say() {
    let derived = |configuration: &str, metric: &str| {
        let figures = published_cost_figures();
        let figure = figures.into_iter().find(|it| it.configuration == configuration && it.metric == metric);
        figure.filter(|it| it.kind == CostKind::Derived).map_or(f64::NAN, |it| it.ours)
    };
    let near = |value: f64, expected: f64| assert!((value - expected).abs() < 0.005, "{value}, not {expected}");
    near(derived("software RAID5, 8 disks", "cost per TB"), 1850.0);
    near(derived("hardware RAID5, 12 disks", "cost per TB"), 1890.91);
    near(derived("commercial systems, low", "price ratio to own array"), 1.57);
    near(derived("commercial systems, high (over)", "price ratio to own array"), 18.285);
    near(derived("array against SSDs", "cost relative to most current SSDs (less than)"), 0.4348);
    near(derived("IDE disks (less than)", "price"), 0.75);
}

#[test]
fn a_figure_that_is_off_is_seen() {
    let mut figure = published_cost_figures().remove(13);
    assert_eq!(figure.metric, "cost per TB");
    figure.ours += 6.0;
    assert!(!figure.agrees(), "1856 is not about 1850");
}

#[test]
fn the_software_array_costs_more_per_usable_terabyte() {
    let usable = published::EIDE_SOFTWARE.cents_per_tb(7 * 250 * GB).expect("it holds something");
    assert_eq!(usable, 211_429); // 2114.29 USD
}

#[test]
fn a_price_for_a_capacity_has_its_limits() {
    assert_eq!(cents_per_tb(2_000, 2 * GB), Some(1_000_000));
    assert_eq!(cents_per_tb(2_000, 0), None);
    assert_eq!(cents_per_tb(u64::MAX, 1), Some(u64::MAX));
    assert!((usd_per_gb(1_000_000) - 10.0).abs() < 1e-12);
    assert_eq!(price_ratio(1, 0), None);
}
