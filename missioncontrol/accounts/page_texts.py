"""Texts of the pages for signing in and for invitations; `{…}` is filled in."""

from __future__ import annotations

from missioncontrol.translation import by_language


class SignInTexts:
    title = "Sign in"
    name = "Name"
    passwords = "Password"
    sign_in = "Sign in"
    stays = "this browser stays signed in"
    with_passkey = "Sign in with a passkey"
    with_provider = "Sign in with {provider}"
    or_else = "or"
    by_link = (
        "Without any of these, a one-time link signs you in. Whoever runs Mission Control "
        "makes one:"
    )
    by_code = "Signed in on another device? Settings, Devices shows a code there:"
    forgotten = "enter it here"
    wrong = "Name or password is wrong."
    too_many = "Too many attempts from here. Wait {wait}, then try again."
    minutes = "{count} minutes"
    seconds = "{count} s"
    second_title = "Confirm that it is you"
    second = "Your account asks for a second factor."
    code = "Code"
    code_hint = "From your authenticator app, or one of your recovery codes."
    wrong_code = "This code is wrong, or was used already."
    begin_again = "Start again"
    passkey_failed = "No passkey was accepted. Try again, or sign in another way."
    provider_failed = "The answer of {provider} could not be used. Try again."
    not_let_in = (
        "{provider} knows you, but no project here lets you in. Ask an owner for an invitation."
    )
    not_yours = "This account at {provider} is not yours here."


class LinkTexts:
    """Texts for one-time links and codes, the only way in at first."""

    fresh_title = "You are not signed in here"
    fresh = "Mission Control has no password. A one-time link signs you in."
    over_title = "This link no longer works"
    over = "It was used already, or more than ten minutes have passed. Nothing else has changed."
    make_one = "Make a new one on the machine that runs it:"
    each_start = "Every start of {up} prints one too."
    by_code = SignInTexts.by_code
    enter_it = SignInTexts.forgotten
    title = "Sign in on this device"
    from_device = "This link came from Settings, Devices on another device of yours."
    from_terminal = "This link came from the terminal that runs Mission Control."
    sign_in = SignInTexts.sign_in
    stays = SignInTexts.stays
    works_once = "It works once, and for ten minutes from when it was made."
    pair_title = "Pair this phone"
    code = "The code shown on your computer under Settings, Devices"
    code_stays = "the code works once; this browser stays signed in"
    code_hint = "Case, spaces and dashes do not matter."
    unknown = "No phone is waiting for this code. It works once, for ten minutes."
    too_many = "Too many attempts. Wait a moment, then type it again."


class JoiningTexts:
    title = "Join a project"
    paste_title = "Join by invitation"
    paste = "Paste your invitation link. It works once."
    paste_label = "Invitation link"
    go_on = "Continue"
    invites = "{by} invites you to {project}"
    invites_nameless = "You are invited to {project}"
    roles = {"owner": "Owner", "operator": "Operator", "viewer": "Viewer"}
    may = {
        "owner": "You can manage members, keys, budgets and rules.",
        "operator": "You can read everything and answer agents.",
        "viewer": "You can read everything, but not answer agents.",
    }
    your_name = "Your name"
    name_hint = "Shown to other members and in the audit log."
    name_refused = "This name is taken, empty, or too long. Choose another."
    you_are = "You are signed in as {name}."
    join = "Join"
    join_hint = "works once; this browser stays signed in"
    until = "Expires {day} UTC."
    over_title = "This invitation no longer works"
    over = "It was used, revoked, or has expired. Ask for a new one."
    already_title = "You are already a member of this project"
    already = "The invitation was not used. An owner can change your role under Settings, Members."
    open_it = "Open Mission Control"
    too_many = "Too many attempts. Wait a moment, then try again."


SIGN_IN_TEXTS = by_language(SignInTexts(), "sign_in")
LINK_TEXTS = by_language(LinkTexts(), "link")
JOINING_TEXTS = by_language(JoiningTexts(), "joining")
