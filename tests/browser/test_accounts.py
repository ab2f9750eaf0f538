"""The way from a server without an account to a colleague who has one."""

import pytest
from django.urls import reverse

from annotate.access import server_address
from evalcore.serving import first_start
from tests.browser.accessibility import violations_of_both_themes

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
PASSWORD = "nobody-guesses-this"


def test_first_manager_invites_a_colleague_without_a_shell(chromium, page, live_server):
    page.goto(live_server.url)
    assert "no account yet" in page.inner_text("main")
    page.goto(first_start.instructions(live_server.url).split()[-1])
    assert violations_of_both_themes(page) == []
    page.fill("[name=username]", "alice")
    page.fill("[name=password1]", PASSWORD)
    page.fill("[name=password2]", PASSWORD)
    page.keyboard.press("Enter")
    page.wait_for_selector("text=Your first study")
    assert violations_of_both_themes(page) == []
    page.click("text=Set the server’s address")
    page.fill("[name=address]", "http://192.168.1.20:8000/")
    page.keyboard.press("Enter")
    page.wait_for_selector("text=The address is saved")
    assert server_address.server_address() == "http://192.168.1.20:8000"
    assert not page.is_visible("text=work on this machine only")
    page.click("nav >> text=Accounts")
    page.click("summary:has-text('New account')")
    page.fill("[name=name]", "bob")
    page.keyboard.press("Enter")
    page.click("[data-copy]")
    page.wait_for_selector("button:text-is('Copied')")
    link = page.input_value("main .link-field")
    page.evaluate(
        "document.querySelectorAll('details').forEach((one) => (one.open = true))"
    )
    page.focus("[name=name]")
    page.keyboard.press("Control+v")
    assert page.input_value("[name=name]") == link
    path = link.removeprefix("http://192.168.1.20:8000")
    bob = chromium.new_context().new_page()
    bob.goto(live_server.url + path)
    assert violations_of_both_themes(bob) == []
    bob.fill("[name=new_password1]", PASSWORD)
    bob.fill("[name=new_password2]", PASSWORD)
    bob.keyboard.press("Enter")
    bob.wait_for_selector("text=Your first study")
    bob.set_viewport_size({"width": 360, "height": 740})
    assert bob.evaluate("document.documentElement.scrollWidth") <= 360
    bob.goto(live_server.url + reverse("account"))
    assert violations_of_both_themes(bob) == []
    bob.fill("[name=name]", "a notebook")
    bob.click("text=Create token")
    bob.wait_for_selector("text=You will not see it again")
    bob.context.close()
