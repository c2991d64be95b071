"""Tables of replies, as models really write them, and the facts each asserts."""

# ruff: noqa: E501
# A row is one reply and its facts: cut in two it would be harder to read.

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hat.domains.base import Fact
from hat.domains.live_shop.catalogue import build_catalogue, decimal_text
from hat.domains.live_shop.reading.extract import extract_facts

READ = """
Link 3 is priced at 59.9 yuan. => price 59.9
It costs ¥59.90. => price 59.9
The price is RMB 59.9. => price 59.9
59.9 yuan! => price 59.9
That one is 59.9元 today => price 59.9
Link 3 sells for 120 yuan => price 120
Link 3 is 120 => price 120
You can get link 3 for just 120 yuan. => price 120
Hi! Link 3 is only 59.9 yuan, great choice! => price 59.9
The cost of link 3 is 59.9 RMB. => price 59.9
Link 3 goes for 59.9. => price 59.9
No. 3: 59.9 yuan => price 59.9
#3 costs 59.9 yuan => price 59.9
Link #3 costs 59.9 yuan => price 59.9
Item 3's price is 59.9 yuan. => price 59.9
Product number 3 costs 59.9 yuan. => price 59.9
Link 3 costs 59 yuan. => price 59
Link 3 costs 59.0 yuan. => price 59
Link 33 costs 59.9 yuan. => price 59.9 @ link 33
Link 3 costs fifty yuan => -
Is it 59.9 yuan? => -
Link 3 costs 59.9 yuan and link 7 costs 69.9 yuan. => price 59.9; price 69.9 @ link 7
Link 3 is 59.9 yuan, link 7 is 69.9 yuan. => price 59.9; price 69.9 @ link 7
Link 3: 59.9 yuan; link 7: 69.9 yuan. => price 59.9; price 69.9 @ link 7
Link 3 costs 59.9, while link 7 costs 69.9. => price 59.9; price 69.9 @ link 7
Links 3 and 7 cost 59.9 and 69.9 yuan. => price 59.9; price 69.9 @ link 7
The prices of link 3 and link 7 are 59.9 yuan and 69.9 yuan. => price 59.9; price 69.9 @ link 7
59.9 yuan for link 3 and 69.9 yuan for link 7. => price 59.9; price 69.9 @ link 7
Link 3 (59.9 yuan) is cheaper than link 7 (69.9 yuan). => cheaper; price 59.9; price 69.9 @ link 7
Link 3 costs 59.9 yuan, 10 yuan less than link 7 at 69.9 yuan. => difference 10; price 59.9; price 69.9 @ link 7
Link 3 costs 59.9 yuan. Link 7 costs 69.9 yuan. The difference is 10 yuan. => difference 10 @ link 7; price 59.9; price 69.9 @ link 7
Link 3 costs 69.9 yuan and link 7 costs 59.9 yuan. => price 59.9 @ link 7; price 69.9
Link 3 is made of cotton. => material cotton
The material is cotton. => material cotton
Link 3 is a cotton product. => material cotton
Link 3 is made of shea butter. => material shea butter
It's made of stainless steel. => material steel
Link 3 is red. => color red
Link 3 comes in gray. => color grey
The colour is Navy. => color navy
Link 3 is red and blue. => color blue; color red
Link 3 is not red, it is blue. => color blue; color not red
Link 3 is a size M. => size M
Link 3 comes in medium size. => size M
It's XL. => size XL
Link 3's size is L. => size L
Link 3 is 30cm. => size 30 cm
Link 3 is 30 centimeters. => size 30 cm
The size is 250g => size 250 g
50 ml. => size 50 ml
Link 3 has 12 left. => stock 12
There are 12 left. => stock 12
12 in stock. => available; stock 12
We have 12 pieces of link 3 in stock. => available; stock 12
Yes, 12 units are still available. => stock 12
Only 12 remaining! => stock 12
Link 3's stock is 12. => stock 12
The stock for link 3 is 12. => stock 12
Link 3 still has 12 available. => stock 12
Yes, link 3 has 12. => stock 12
Link 3 has 12 items left in stock. => available; stock 12
Link 3 is still in stock. => available
Link 3 is sold out. => sold_out
Sorry, link 3 is out of stock. => sold_out
Link 3 is not in stock. => sold_out
Link 3 isn't available anymore. => sold_out
There are none left. => sold_out
Link 3 has 0 left. => sold_out
Link 3 has 0 left, so it is sold out. => sold_out
Link 3 is not sold out, 12 left. => stock 12
No, link 3 is gone, sold out! => sold_out
Use LIVE20 for link 3: 39.9 yuan. => coupon_code LIVE20; coupon_price 39.9
Link 3 costs 39.9 yuan with coupon LIVE20. => coupon_code LIVE20; coupon_price 39.9
The coupon code is LIVE20 and the price after it is 39.9 yuan. => coupon_code LIVE20; coupon_price 39.9
Yes! Code LIVE20 brings link 3 down to 39.9 yuan. => coupon_code LIVE20; coupon_price 39.9
Coupon live20 makes it 39.9 yuan. => coupon_code LIVE20; coupon_price 39.9
With LIVE20 you pay 39.9 yuan. => coupon_code LIVE20; coupon_price 39.9
Apply LIVE20. The final price is 39.9 yuan. => coupon_code LIVE20; coupon_price 39.9
Link 3 has coupon LIVE20. It costs 39.9 yuan after. => coupon_code LIVE20; coupon_price 39.9
Link 3 costs 59.9 yuan, or 39.9 yuan with LIVE20. => coupon_code LIVE20; coupon_price 39.9; price 59.9
The coupon is LIVE20. => coupon_code LIVE20
Link 3 has no coupon. => no_coupon
There is no coupon for link 3 right now. => no_coupon
Sorry, there isn't any discount code on link 3. => no_coupon
Link 3 does not have a coupon. => no_coupon
No coupons available for link 3. => no_coupon
I couldn't find a coupon for link 3. => no_coupon
No discount code applies to link 3. => no_coupon
Link 3 takes 3 days to Hangzhou, fee 8 yuan. => days 3; fee 8; region Hangzhou
Shipping to Hangzhou takes 3 days and costs 8 yuan. => days 3; fee 8; region Hangzhou
Delivery takes 3 days. The fee is 8 yuan. => days 3; fee 8
Delivery takes 3 days. It costs 8 yuan. => days 3; fee 8
Link 3 ships in 3 days for 8 yuan. => days 3; fee 8
It'll arrive in about 3 days, 8 yuan shipping. => days 3; fee 8
Link 3 arrives in Hangzhou in 3 days with an 8 yuan fee. => days 3; fee 8; region Hangzhou
Shipping is 8 yuan and takes three days. => days 3; fee 8
3 days, 8 yuan shipping fee. => days 3; fee 8
3-day delivery for 8 yuan. => days 3; fee 8
Link 3 takes 3 days to Hangzhou, free shipping. => days 3; free_shipping; region Hangzhou
Shipping to Hangzhou is free and takes 3 days. => days 3; free_shipping; region Hangzhou
It ships free in 3 days. => days 3; free_shipping
Delivery takes 3 days with no shipping fee. => days 3; free_shipping
3 days and the fee is 0 yuan. => days 3; free_shipping
Arrives in 3 days, shipping fee 0. => days 3; free_shipping
Link 3 can be returned within 7 days. => return_days 7
You have 7 days to return link 3. => return_days 7
Yes, 7-day returns on link 3. => return_days 7
Link 3 has a 7 day return window. => return_days 7
You can send it back within 14 days if unopened. => return_days 14
Refunds are possible within thirty days. => return_days 30
Link 3 is clothing, so you can return it within 7 days. => return_days 7
Yes, within 7 days of delivery you can return it. => return_days 7
Link 3 cannot be returned. => no_returns
Link 3 can't be returned because it is final sale. => no_returns
Sorry, no returns on link 3. => no_returns
Sorry, we do not accept returns for link 3. => no_returns
Link 3 is non-returnable. => no_returns
Returns are not allowed for link 3. => no_returns
Link 3 is not returnable. => no_returns
Food can not be refunded. => no_returns
Link 3 can be returned within 7 days but not after 7 days. => return_days 7
The live ends at 22:30. => ends_at 22:30
We are live until 22:30. => ends_at 22:30
At 10:30 pm. => ends_at 22:30
Until 10:30PM tonight! => ends_at 22:30
The stream ends at 22:30 and link 3 is 59.9 yuan => ends_at 22:30; price 59.9
The host is Lin Yue. => host Lin Yue
I'm Lin Yue! => host Lin Yue
Hi, Lin Yue here, link 3 costs 59.9 yuan. => host Lin Yue; price 59.9
Sorry, I cannot answer that here. => decline
Sorry, I can't help with that. => decline
I'm sorry, but I can't answer that question. => decline
I am not able to answer that. => decline
Unfortunately I don't have information about the weather. => decline
I can only answer questions about our products. => decline
That's outside what I can help with. => decline
Sorry, I don't know. => decline
Sorry, link 512 does not exist. => decline
There is no link 512 here. => decline
Link 512 was not found. => decline
I could not find link 512, please check the number. => decline
Sorry, we don't have link 512. => decline
Sorry, link 512 is not in our shop. => decline
No such link, sorry! => decline
Sorry, I can't share that. Do you have a question about our products? => decline
It will be sunny tomorrow. => -
Paris. => -
Link 3 costs 1,299 yuan. => price 1299
Free gift with link 3, 59.9 yuan. => price 59.9
Feel free to ask, shipping takes 3 days and 8 yuan. => days 3; fee 8
The price of link 3 with coupon LIVE20 is 39.9 yuan. => coupon_code LIVE20; coupon_price 39.9
LIVE20, 39.9 yuan. => coupon_code LIVE20; coupon_price 39.9
Link 3 costs 39.9 yuan (coupon LIVE20). => coupon_code LIVE20; coupon_price 39.9
Link 3 costs 39.9 yuan if you use LIVE20. => coupon_code LIVE20; coupon_price 39.9
Link 3 has a coupon: LIVE20, price after: 39.9. => coupon_code LIVE20; coupon_price 39.9
There's a coupon for link 3, LIVE20, so you pay 39.9 yuan. => coupon_code LIVE20; coupon_price 39.9
Yes, use LIVE20 at checkout and link 3 is 39.9 yuan. => coupon_code LIVE20; coupon_price 39.9
Link 3 drops to 39.9 yuan with the code LIVE20. => coupon_code LIVE20; coupon_price 39.9
Link 3 costs 39.9 yuan. => price 39.9
Unfortunately link 3 doesn't have any coupons. => no_coupon
There are no coupons for link 3 today. => no_coupon
No, no coupon. => no_coupon
Link 3 has no coupon available. => no_coupon
Days: 3, fee: 8 yuan. => days 3; fee 8
Link 3 will get to Hangzhou in 3 days and shipping costs 8 yuan. => days 3; fee 8; region Hangzhou
Link 3 reaches Hangzhou in 3 days for 8 yuan. => days 3; fee 8; region Hangzhou
Link 3 will take 3 days to get to Hangzhou, costing 8 yuan. => days 3; fee 8; region Hangzhou
It takes 3 days to Hangzhou and costs 8 yuan. => days 3; fee 8; region Hangzhou
Link 3 takes 3 days to Hangzhou, fee 8. => days 3; fee 8; region Hangzhou
Link 3 takes 3 days to Hangzhou with a fee of 8 yuan. => days 3; fee 8; region Hangzhou
Link 3 takes 3 days to Hangzhou, and it's free. => days 3; free_shipping; region Hangzhou
Link 3 takes 3 days to Hangzhou for free. => days 3; free_shipping; region Hangzhou
Link 3 takes 1 day to Hangzhou, fee 8 yuan. => days 1; fee 8; region Hangzhou
Link 3 takes 3 days to Hangzhou, fee 8 yuan, not free. => days 3; fee 8; region Hangzhou
Link 3 can be returned within 7 days of delivery. => return_days 7
Link 3 can be returned in 7 days. => return_days 7
The return period for link 3 is 7 days. => return_days 7
Returns: 7 days. => return_days 7
You can return it within 7 days. No questions asked! => return_days 7
Link 3 is final sale, so no returns. => no_returns
It is food. It can't be returned. => no_returns
Link 3 isn't eligible for a refund. => no_returns
You can't return link 3. => no_returns
Link 3 can be returned. => -
Opened items cannot be returned, unopened ones within 14 days. => return_days 14
Link 7 is cheaper, at 49 yuan, than link 3 at 59.9 yuan. => cheaper @ link 7; price 49 @ link 7; price 59.9
The cheaper one is link 7: 49 yuan. Link 3 costs 59.9 yuan. => cheaper @ link 7; price 49 @ link 7; price 59.9
Link 3 costs 59.9 yuan, link 7 costs 49 yuan, so link 7 is cheaper. => cheaper @ link 7; price 49 @ link 7; price 59.9
Link 3 is not cheaper: 59.9 yuan against 49 yuan for link 7. => dearer; price 49 @ link 7; price 59.9
Link 3 costs 59.9 yuan; link 7, 49 yuan. => price 49 @ link 7; price 59.9
No, link 3 costs 59.9 yuan and link 7 costs 49 yuan. => price 49 @ link 7; price 59.9
Link 3 costs 59.9 yuan vs 49 yuan for link 7. => price 49 @ link 7; price 59.9
Link 3's price is 59.9 yuan, and the price of link 7 is 49 yuan. => price 49 @ link 7; price 59.9
It's bamboo, not glass. => material bamboo; material not glass
Link 3 is made of cotton and wool. => material cotton; material wool
I cannot help you with investments. => decline
Sorry, that is not something I can answer. => decline
I'm afraid I can't say. => decline
Sorry, I'm only here to help with the shop. => decline
Sorry, that item isn't listed here. => decline
Sorry, I can't find that link. => decline
Sorry, this link does not exist in our room. => decline
I have no information about that. => decline
Sorry. => -
We end at 9 pm. => ends_at 21:00
Lin Yue is hosting tonight. => host Lin Yue
There are twelve left. => stock 12
Stock: 12. => stock 12
In stock: 12 => available; stock 12
We currently have 12 left in stock for link 3. => available; stock 12
Yes, you can still get it, 12 left! => stock 12
Link 3 has none in stock. => sold_out
No more stock for link 3. => sold_out
Link 3 has no stock left. => sold_out
Link 3 is unavailable, it sold out. => sold_out
The Luna Hoodie costs 20 yuan. => price 20 @ link 44
luna hoodie is 20 yuan => price 20 @ link 44
牛轧糖 costs 90.5 yuan. => price 90.5 @ link 297
The Luna Hoodie (link 44) costs 20 yuan. => price 20 @ link 44
Link 3 may be returned within 7 days. => return_days 7
Link 3 takes 3 days to Hangzhou (free shipping). => days 3; free_shipping; region Hangzhou
It takes 3 days and costs 8 yuan. => days 3; fee 8
链接3 is 59.9元 => price 59.9
Link 6003 costs 59.9 yuan. => price 59.9 @ link 6003
Link 3 is orange. => color orange
Link 3 is navy blue. => color navy
Link 3 is made of cotton and plastic. => material cotton; material plastic
Link 3 costs 59.9 yuan each. => price 59.9
"""
"""One reply a line, then its facts: "kind value", and "@ link N" where it is not said of link 3, the default."""

WORDLESS = frozenset(
    {"sold_out", "no_coupon", "free_shipping", "no_returns", "decline", "available", "cheaper", "dearer"}
)
ABOUT_NO_PRODUCT = frozenset({"ends_at", "host", "region", "decline", "number"})


def parse_fact(text: str) -> Fact:
    text, _, subject = text.partition(" @ ")
    kind, _, value = text.partition(" ")
    assert bool(value) != (kind in WORDLESS), text
    return Fact(kind, value, "" if kind in ABOUT_NO_PRODUCT else subject or "link 3")


def rows() -> list[tuple[str, frozenset[Fact]]]:
    split = [line.split(" => ") for line in READ.strip().splitlines()]
    return [
        (reply, frozenset() if facts == "-" else frozenset(map(parse_fact, facts.split("; "))))
        for reply, facts in split
    ]


@pytest.mark.parametrize(("reply", "facts"), rows())
def test_a_reply_asserts_exactly_these_facts(reply: str, facts: frozenset[Fact]) -> None:
    assert extract_facts(reply, build_catalogue(), "link 3") == facts


@pytest.mark.parametrize("reply", ["", "   ", "\n"])
def test_an_empty_reply_asserts_nothing(reply: str) -> None:
    assert extract_facts(reply, build_catalogue(), "link 3") == frozenset()


NOT_PLAINLY_SAID = [
    ("It costs $59.9.", Fact("price", "59.9", "link 3")),
    ("It costs 59.9 dollars.", Fact("price", "59.9", "link 3")),
    ("Link 3 costs 59.9 or 69.9 yuan.", Fact("price", "59.9", "link 3")),
    ("Link 3 costs about 59.9 yuan.", Fact("price", "59.9", "link 3")),
    ("Link 3 costs less than 59.9 yuan.", Fact("price", "59.9", "link 3")),
    ("I think it is 59.9 yuan.", Fact("price", "59.9", "link 3")),
    ("It might be 59.9 yuan.", Fact("price", "59.9", "link 3")),
    ("Link 3 does not cost 59.9 yuan.", Fact("price", "59.9", "link 3")),
    ("Link 3 costs ５９.９ yuan.", Fact("price", "59.9", "link 3")),
    ("Link 3 costs ٥٩ yuan.", Fact("price", "59", "link 3")),
    ("Link 3 costs 59.9 yuan, ６９ before.", Fact("price", "59.9", "link 3")),
    ("Prices: 59.9, 69.9, 79.9 yuan.", Fact("price", "59.9", "link 3")),
    ("Link 3 costs 59.9 yuan and is rated 4.8.", Fact("price", "59.9", "link 3")),
    ("Link 3 costs 59.9 yuan, bought by 2000 people.", Fact("price", "59.9", "link 3")),
    ("Link 4 costs 59.9 yuan.", Fact("price", "59.9", "link 3")),
    ("Link 3 costs 59.9 yuan, or 49.9 yuan with LIVE10.", Fact("price", "59.9", "link 3")),
    ("Fee 59.9 yuan.", Fact("price", "59.9", "link 3")),
    ("3 to 5 days.", Fact("days", "3", "link 3")),
    ("It takes over 3 days.", Fact("days", "3", "link 3")),
    ("It ends around 22:30.", Fact("ends_at", "22:30")),
    ("The live ends at 22:30 and starts at 18:00.", Fact("ends_at", "22:30")),
    ("The host is not Lin Yue.", Fact("host", "Lin Yue")),
    ("The host is Lin Yue or Chen Mo.", Fact("host", "Lin Yue")),
    ("More than 12 left.", Fact("stock", "12", "link 3")),
    ("12 or 13 left.", Fact("stock", "12", "link 3")),
    ("Use LIVE20 and STAR10.", Fact("coupon_code", "LIVE20", "link 3")),
    ("Link 3 cannot be returned within 7 days.", Fact("return_days", "7", "link 3")),
    ("Sorry, I cannot answer that here. Link 3 costs 59.9 yuan.", Fact("decline", "")),
    ("Sorry, I cannot answer that here. It will be sunny tomorrow.", Fact("decline", "")),
    ("I can't help with the weather, but it will be sunny.", Fact("decline", "")),
]


@pytest.mark.parametrize(("reply", "gold"), NOT_PLAINLY_SAID)
def test_a_hedge_a_list_or_a_false_extra_is_not_the_one_fact(reply: str, gold: Fact) -> None:
    assert extract_facts(reply, build_catalogue(), "link 3") != {gold}


@pytest.mark.parametrize("link", [1, 3, 12, 300, 512])
def test_digits_of_a_reference_are_never_a_claim(link: int) -> None:
    replies = [f"Link {link}.", f"No. {link}!", f"#{link}", f"Item {link}, sure.", f"Product number {link}"]
    for reply in replies:
        assert extract_facts(reply, build_catalogue(), "link 3") == frozenset(), reply


def test_marks_smuggled_into_a_reply_are_not_references() -> None:
    facts = extract_facts("\ue005 costs 59.9 yuan.", build_catalogue(), "link 3")
    assert facts == {Fact("price", "59.9", "link 3")}


@given(st.text(max_size=200))
def test_any_text_can_be_read(reply: str) -> None:
    assert all(isinstance(fact, Fact) for fact in extract_facts(reply, build_catalogue(), "link 3"))


@given(
    st.integers(min_value=1, max_value=300),
    st.integers(min_value=1, max_value=99999),
    st.sampled_from(["Link {n} costs {v} yuan.", "The price of link {n} is ¥{v}.", "{v} yuan for link {n}!"]),
)
def test_any_price_is_read_as_it_was_written(link: int, tenths: int, template: str) -> None:
    value = decimal_text(tenths)
    facts = extract_facts(template.format(n=link, v=value), build_catalogue())
    assert facts == {Fact("price", value, f"link {link}")}
