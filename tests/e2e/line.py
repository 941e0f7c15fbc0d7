"""A page's line to the server, which can be cut and let through again."""

import re

from playwright.sync_api import expect


def link_of(page):
    """Return where a page says whether it is live."""
    return page.get_by_role("status").filter(
        has_text=re.compile(r"^\s*(Live|Connecting|Offline)\s*$")
    )


class Line:
    """The websockets of one page, which can be cut and let through again."""

    def __init__(self, page):
        self._page, self._open, self._is_cut = page, [], False
        page.route_web_socket("**/ws/**", self._connect)

    def cut(self):
        self.sever()
        expect(link_of(self._page)).to_have_text("Offline")

    def sever(self):
        """Cut it, and wait for nothing: the page may speak any language."""
        self._is_cut = True
        for ours in self._open:
            ours.close(code=1012)
        self._open.clear()

    def mend(self):
        self._is_cut = False

    def _connect(self, ours):
        if self._is_cut:
            ours.close(code=1012)
            return
        ours.connect_to_server()
        self._open.append(ours)
