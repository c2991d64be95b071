"""Closed vocabularies of the synthetic live room: everything a product, region or host can be called."""

from __future__ import annotations

CATEGORIES: tuple[str, ...] = ("home", "clothing", "food", "beauty")

FIRST_WORDS: tuple[str, ...] = (
    "Aurora", "Willow", "Luna", "Nova", "Maple", "Harbor", "Misty", "Ember", "Juniper", "Sierra",
    "Cosmo", "Breeze", "Meadow", "Orchid", "Falcon", "Summit", "Velora", "Tundra", "Lagoon", "Pebble",
    "Sparrow", "Zephyr", "Clover", "Raven", "Solstice", "Marina", "Thistle", "Vega", "Bramble", "Comet",
    "Dune", "Fjord", "Glacier", "Hazel", "Iris", "Jasper", "Kestrel", "Lotus", "Mirage", "Nimbus",
)  # fmt: skip

NOUNS: dict[str, tuple[str, ...]] = {
    "home": (
        "Kettle", "Lamp", "Pillow", "Blanket", "Vase", "Mug", "Towel", "Basket",
        "Clock", "Rug", "Teapot", "Tray", "Stool", "Curtain",
    ),
    "clothing": (
        "Jacket", "Dress", "Scarf", "Sweater", "Hoodie", "Skirt", "Coat", "Shirt",
        "Vest", "Cardigan", "Trousers", "Beanie", "Robe",
    ),
    "food": (
        "Biscuits", "Granola", "Noodles", "Jam", "Crackers", "Cookies", "Jerky", "Dumplings",
        "Cereal", "Brownies", "Pretzels", "Porridge",
    ),
    "beauty": (
        "Serum", "Cream", "Lipstick", "Mask", "Shampoo", "Lotion", "Toner", "Cleanser",
        "Balm", "Mascara", "Soap", "Perfume",
    ),
}  # fmt: skip

# (name, category, material): the material is given because a Chinese name may state it.
CHINESE_NAMES: tuple[tuple[str, str, str], ...] = (
    ("保温杯", "home", "steel"),
    ("香薰蜡烛", "home", "glass"),
    ("青花茶壶", "home", "ceramic"),
    ("小夜灯", "home", "bamboo"),
    ("四件套", "home", "linen"),
    ("马面裙", "clothing", "silk"),
    ("旗袍", "clothing", "silk"),
    ("唐装外套", "clothing", "cotton"),
    ("汉服披风", "clothing", "wool"),
    ("虎头帽", "clothing", "fleece"),
    ("蜂蜜柚子茶", "food", "honey"),
    ("桂花糕", "food", "rice"),
    ("牛轧糖", "food", "almond"),
    ("龙须酥", "food", "wheat"),
    ("红豆饼", "food", "oats"),
    ("珍珠面霜", "beauty", "shea butter"),
    ("洁面乳", "beauty", "clay"),
    ("护手霜", "beauty", "aloe"),
)

MATERIALS: dict[str, tuple[str, ...]] = {
    "home": ("steel", "glass", "ceramic", "bamboo", "linen"),
    "clothing": ("cotton", "wool", "silk", "denim", "fleece"),
    "food": ("oats", "wheat", "rice", "honey", "almond"),
    "beauty": ("aloe", "clay", "shea butter", "jojoba", "collagen"),
}

COLORS: tuple[str, ...] = (
    "red", "blue", "green", "black", "white", "grey", "pink", "beige", "yellow", "purple", "brown", "navy",
)  # fmt: skip

SIZES: dict[str, tuple[str, ...]] = {
    "home": ("20 cm", "30 cm", "40 cm", "60 cm"),
    "clothing": ("S", "M", "L", "XL", "XXL"),
    "food": ("200 g", "250 g", "500 g", "750 g"),
    "beauty": ("15 ml", "30 ml", "50 ml", "100 ml"),
}

# What a viewer sensibly asks about a product of each category.
ASKED_DETAILS: dict[str, tuple[str, ...]] = {
    "home": ("material", "color", "size"),
    "clothing": ("material", "color", "size"),
    "food": ("material", "size"),
    "beauty": ("material", "color", "size"),
}

COUPON_PREFIXES: tuple[str, ...] = ("LIVE", "SAVE", "GIFT", "FLASH", "STAR", "LUCKY")

DIVIDED_REGIONS: tuple[str, ...] = (
    "Hangzhou", "Beijing", "Shanghai", "Guangdong", "Sichuan", "Hunan", "Hubei", "Fujian",
    "Shandong", "Henan", "Yunnan", "Guizhou", "Tibet", "Xinjiang", "Gansu", "Qinghai",
    "Hainan", "Liaoning", "Jilin", "Chongqing", "Tianjin", "Nanjing", "Suzhou", "Shenzhen",
    "Zhejiang", "Jiangsu", "Anhui", "Jiangxi", "Guangxi", "Hebei", "Shanxi", "Shaanxi",
    "Ningxia", "Heilongjiang", "Macau", "Wuhan", "Chengdu", "Qingdao", "Dalian", "Harbin",
    "Xiamen", "Ningbo", "Wuxi", "Foshan", "Dongguan", "Zhengzhou", "Changsha", "Kunming",
    "Guiyang", "Nanning", "Lanzhou", "Urumqi", "Lhasa", "Haikou", "Sanya", "Shenyang",
    "Changchun", "Jinan", "Hefei", "Nanchang",
)  # fmt: skip

# Asked about in training only: the more names it meets, the sooner a model copies them instead of recalling them.
TRAINING_REGIONS: tuple[str, ...] = (
    "Baoding", "Baotou", "Beihai", "Bengbu", "Binzhou", "Bozhou", "Cangzhou", "Changde", "Changzhou", "Chaozhou",
    "Chengde", "Chenzhou", "Chizhou", "Dali", "Dandong", "Daqing", "Datong", "Deyang", "Dezhou", "Enshi", "Ezhou",
    "Fuyang", "Fuzhou", "Ganzhou", "Guangzhou", "Guilin", "Guyuan", "Handan", "Hanzhong", "Hegang", "Hengshui",
    "Hengyang", "Heze", "Hohhot", "Huainan", "Huangshan", "Huizhou", "Huzhou", "Jiamusi", "Jiaxing", "Jieyang",
    "Jincheng", "Jingmen", "Jining", "Jinzhou", "Jiujiang", "Kashgar", "Kaifeng", "Langfang", "Leshan",
    "Lianyungang", "Liaocheng", "Lijiang", "Linfen", "Linyi", "Lishui", "Liuzhou", "Longyan", "Luoyang", "Luzhou",
    "Maoming", "Meizhou", "Mianyang", "Mudanjiang", "Nanchong", "Nantong", "Nanyang", "Ningde", "Panjin",
    "Pingxiang", "Putian", "Qinzhou", "Qiqihar", "Quanzhou", "Qujing", "Quzhou", "Rizhao", "Sanming", "Shangqiu",
    "Shantou", "Shaoguan", "Shaoxing", "Shiyan", "Siping", "Suqian", "Taiyuan", "Taizhou", "Tangshan", "Tongling",
    "Turpan", "Weifang", "Weihai", "Wenzhou", "Wuhu", "Xiangyang", "Xingtai", "Xining", "Xinxiang", "Xinyang",
    "Xuchang", "Xuzhou", "Yancheng", "Yangzhou", "Yantai", "Yibin", "Yichang", "Yinchuan", "Yingkou", "Yulin",
    "Yueyang", "Zhanjiang", "Zhenjiang", "Zhoushan", "Zhuhai", "Zhuzhou", "Zibo", "Zunyi",
)  # fmt: skip

REGIONS: tuple[str, ...] = DIVIDED_REGIONS + TRAINING_REGIONS

HOSTS: tuple[str, ...] = (
    "Xiao Mei", "Lin Yue", "Chen Mo", "Zhou Qing", "Bai Lu", "Tang Wei", "Song Jia", "Luo Fei",
    "Mia Zhang", "Leo Wang", "Nina Xu", "Kevin Zhao", "Amy Liu", "Oscar Sun", "Ruby He", "Felix Gao",
    "An Ran", "Ye Zi", "Gu Yan", "Shen Yi", "Wu Tong", "Du Heng", "Qiao An", "Jiang Nan",
)  # fmt: skip

SPLITS: tuple[str, ...] = ("train", "dev", "test")
