"""What the pages of signing in and of an invitation say: English, and German over it.

`{…}` is filled in.
"""

from __future__ import annotations

from collections.abc import Mapping


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


class GermanSignIn(SignInTexts):
    title = "Anmelden"
    name = "Name"
    passwords = "Passwort"
    sign_in = "Anmelden"
    stays = "dieser Browser bleibt angemeldet"
    with_passkey = "Mit Passkey anmelden"
    with_provider = "Mit {provider} anmelden"
    or_else = "oder"
    by_link = "Ohne all das meldet ein Einmal-Link an. Wer Mission Control betreibt, erzeugt ihn:"
    by_code = "Auf einem anderen Gerät angemeldet? Dort zeigt Einstellungen, Geräte einen Code:"
    forgotten = "hier eingeben"
    wrong = "Name oder Passwort ist falsch."
    too_many = "Zu viele Versuche von hier. Bitte {wait} warten."
    minutes = "{count} Minuten"
    seconds = "{count} s"
    second_title = "Anmeldung bestätigen"
    second = "Dieses Konto verlangt einen zweiten Faktor."
    code = "Code"
    code_hint = "Aus der Authenticator-App, oder einer der Wiederherstellungscodes."
    wrong_code = "Dieser Code ist falsch oder wurde schon benutzt."
    begin_again = "Von vorn beginnen"
    passkey_failed = "Kein Passkey wurde angenommen. Noch einmal versuchen, oder anders anmelden."
    provider_failed = "Die Antwort von {provider} war nicht zu gebrauchen. Noch einmal versuchen."
    not_let_in = (
        "{provider} kennt dieses Konto, aber kein Projekt hier lässt es ein. Eigentümer "
        "können einladen."
    )
    not_yours = "Dieses Konto bei {provider} gehört hier jemand anderem."


class LinkTexts:
    """Of one-time links and codes, without which nobody is signed in at first."""

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
    too_many = "Too many tries. Wait a moment, then type it again."


class GermanLink(LinkTexts):
    fresh_title = "Hier ist niemand angemeldet"
    fresh = "Mission Control hat kein Passwort. Ein Einmal-Link meldet an."
    over_title = "Dieser Link gilt nicht mehr"
    over = "Er wurde schon benutzt, oder zehn Minuten sind vorbei. Sonst hat sich nichts geändert."
    make_one = "Ein neuer entsteht auf dem Rechner, auf dem Mission Control läuft:"
    each_start = "Auch jeder Start von {up} zeigt einen."
    by_code = GermanSignIn.by_code
    enter_it = GermanSignIn.forgotten
    title = "Auf diesem Gerät anmelden"
    from_device = "Dieser Link kommt von einem anderen Gerät, unter Einstellungen, Geräte."
    from_terminal = "Dieser Link kommt aus dem Terminal, in dem Mission Control läuft."
    sign_in = GermanSignIn.sign_in
    stays = GermanSignIn.stays
    works_once = "Er gilt einmal, und zehn Minuten, seit er erzeugt wurde."
    pair_title = "Dieses Telefon koppeln"
    code = "Der Code, den der Computer unter Einstellungen, Geräte zeigt"
    code_stays = "der Code gilt einmal; dieser Browser bleibt angemeldet"
    code_hint = "Großschreibung, Leerzeichen und Striche sind gleich."
    unknown = "Kein Telefon wartet auf diesen Code. Er gilt einmal, zehn Minuten lang."
    too_many = "Zu viele Versuche. Bitte einen Moment warten, dann neu eingeben."


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


class GermanJoining(JoiningTexts):
    title = "Einem Projekt beitreten"
    paste_title = "Mit Einladung beitreten"
    paste = "Den Einladungslink hier einfügen. Er gilt einmal."
    paste_label = "Einladungslink"
    go_on = "Weiter"
    invites = "{by} lädt zu {project} ein"
    invites_nameless = "Einladung zu {project}"
    roles = {"owner": "Eigentümer", "operator": "Operator", "viewer": "Betrachter"}
    may = {
        "owner": "Verwaltet Mitglieder, Schlüssel, Budgets und Regeln.",
        "operator": "Liest alles und antwortet Agenten.",
        "viewer": "Liest alles, antwortet aber keinem Agenten.",
    }
    your_name = "Name"
    name_hint = "Andere Mitglieder sehen ihn, auch im Protokoll."
    name_refused = "Dieser Name ist vergeben, leer oder zu lang. Bitte einen anderen wählen."
    you_are = "Angemeldet als {name}."
    join = "Beitreten"
    join_hint = "gilt einmal; dieser Browser bleibt angemeldet"
    until = "Gültig bis {day} UTC."
    over_title = "Diese Einladung gilt nicht mehr"
    over = (
        "Sie wurde benutzt, zurückgenommen oder ist abgelaufen. Wer eingeladen hat, kann eine "
        "neue schicken."
    )
    already_title = "Schon Mitglied dieses Projekts"
    already = (
        "Die Einladung wurde nicht verbraucht. Rollen ändern Eigentümer unter Einstellungen, "
        "Mitglieder."
    )
    open_it = "Mission Control öffnen"
    too_many = "Zu viele Versuche. Bitte einen Moment warten."


SIGN_IN_TEXTS: Mapping[str, SignInTexts] = {"en": SignInTexts(), "de": GermanSignIn()}
LINK_TEXTS: Mapping[str, LinkTexts] = {"en": LinkTexts(), "de": GermanLink()}
JOINING_TEXTS: Mapping[str, JoiningTexts] = {"en": JoiningTexts(), "de": GermanJoining()}
