import type en from "../en/devices";
import { strong } from "../strong";

const texts: typeof en = {
  failed: "Die Geräte konnten nicht geladen werden.",
  problem: "Der Server war nicht erreichbar; nichts wurde geändert.",
  here: {
    title: "Benachrichtigungen auf diesem Gerät",
    on: "An. Eine Karte, die eine Antwort braucht, kommt sofort hierher.",
    off: "Aus. Eine Karte wartet, bis jemand hinschaut.",
    insecure: "Diese Adresse nutzt einfaches HTTP; dort erlauben Browser keine Benachrichtigungen.",
    homeScreen:
      "Auf dem iPhone zuerst zum Home-Bildschirm hinzufügen: Teilen, dann „Zum Home-Bildschirm“. Von dort öffnen.",
    unsupported: "Dieser Browser unterstützt keine Benachrichtigungen.",
    noWorker:
      "Dieser Browser vertraut dem Zertifikat dieser Adresse noch nicht (oder das Fenster ist privat): bis dahin keine Benachrichtigungen.",
    denied: "Für diese Seite blockiert. Freigeben lässt es sich in den Einstellungen des Browsers.",
    noKey: "Diese Installation hat keinen Schlüssel für Push: VAPID_PRIVATE_KEY setzen.",
    allow: "Benachrichtigungen erlauben",
    allowSecond: "der Browser fragt einmal nach",
    stop: "Hier ausschalten",
    failed: "Der Push-Dienst des Browsers lieferte keine Adresse. Ist dieses Gerät online?",
    refused: "Benachrichtigungen wurden nicht erlaubt.",
  },
  pair: {
    title: "Telefon koppeln",
    another: "Weiteres Telefon koppeln",
    show: "Code zeigen",
    left: (span) => `gilt einmal, noch ${span}`,
    over: "Dieser Code gilt nicht mehr.",
    steps: [
      {
        first: "Die Kamera des Telefons auf den Code richten.",
        then: "Mission Control öffnet sich, bereits angemeldet. Kein Passwort.",
      },
      {
        first: "Zum Home-Bildschirm hinzufügen.",
        then: "iPhone: Teilen, dann „Zum Home-Bildschirm“. Push braucht das dort. Android: Installieren.",
      },
      { first: "Benachrichtigungen erlauben.", then: "Einen Test senden, fertig." },
    ],
    qr: "Ein QR-Code für die Kamera: ein Link, der einmal anmeldet",
    noCamera: "Keine Kamera?",
    at: (url) => `unter ${url}`,
    fresh: "Neuer Code",
    paired: (name) => `${name} ist gekoppelt.`,
    pairedText: "Es ist angemeldet. Dort Benachrichtigungen erlauben, dann einen Test senden.",
    none: "Ein Telefon erreicht diese Adresse nicht.",
    noneText: (command) =>
      `Mission Control ist nur auf diesem Rechner erreichbar. Mit ${strong(command)} starten und wiederkommen.`,
  },
  door: {
    closed: "Ein Telefon erreicht diesen Rechner noch nicht.",
    opens: (port) =>
      `Das öffnet HTTPS auf ${port === 0 ? "einem freien Port" : `Port ${String(port)}`} dieses Rechners im lokalen Netz, mit einem eigenen Zertifikat. Nur wer angemeldet ist, sieht etwas; hier lässt es sich jederzeit ausschalten.`,
    open: "Vom Telefon erreichen",
    opening: "Wird geöffnet …",
    isOpen: (port) => `HTTPS auf Port ${port} ist im lokalen Netz offen.`,
    close: "Ausschalten",
    failed: (why) => `Es konnte nicht geöffnet werden: ${why}`,
  },
  reach: {
    plain: "Diese Adresse nutzt einfaches HTTP.",
    plainText:
      "Andere im Netz können mitlesen. Das Telefon zeigt alles, lässt sich aber nicht installieren, meldet sich nicht und startet nicht ohne Verbindung: Browser erlauben das nur über HTTPS. Mit --https starten, oder einen Proxy oder Tailscale davorsetzen.",
    own: "Diese Adresse benutzt ein Zertifikat, das dieser Rechner ausgestellt hat.",
    ownText:
      "Das Telefon warnt einmal. Push und Installation gehen nur, wo ihm vertraut wird; also vertrauen, oder einen Proxy oder Tailscale davorsetzen. Ohne beides zeigt das Telefon trotzdem alles, meldet sich aber nicht.",
    how: "Wie man ihm vertraut",
    hide: "Verbergen",
    fetch: "Zertifikat laden",
    check: "Seine SHA-256 mit dieser und mit der im Terminal vergleichen:",
    ways: [
      {
        where: "Android",
        how: "Einstellungen, Sicherheit, Verschlüsselung & Anmeldedaten, Zertifikat installieren, CA-Zertifikat.",
      },
      {
        where: "iPhone",
        how: "In Safari öffnen und das Profil erlauben; Einstellungen, Allgemein, VPN & Geräteverwaltung, installieren; dann Allgemein, Info, Zertifikatsvertrauenseinstellungen, einschalten.",
      },
    ],
    limits: "Es gilt nur für die Namen dieses Rechners und für private Adressen.",
  },
  list: {
    title: "Geräte",
    switchHint: "der Schalter gilt für Push auf dem jeweiligen Gerät",
    called: (name) => (name === "a browser" ? "ein Browser" : name),
    thisOne: "dieses",
    now: "jetzt",
    seen: (span) => `vor ${span}`,
    lastPush: (at) => `Push zugestellt ${at}`,
    failedPush: (at, why) => `Push von ${at} kam nicht an${why && `: ${why}`}`,
    reports: "Tagesbericht",
    reportsHint: "Was jeder Tag kostete, nach Mitternacht in der Zeitzone des Projekts.",
    noPushYet: "noch kein Push",
    noPush: "nimmt keine Benachrichtigungen an",
    outdated: "mit einem älteren Schlüssel angemeldet: dort Benachrichtigungen neu erlauben",
    quiet: (from, to) => `Ruhe ${from} – ${to}`,
    push: (name) => `Push auf ${name}`,
    more: (name) => `Mehr zu ${name}`,
    name: "Name",
    details: "Einzelheiten zeigen",
    detailsHint: "Aus: eine Benachrichtigung trägt nur ihren Titel.",
    quietHours: "Ruhezeit",
    quietHint: (zone) => `In ${zone}. Eine Karte wartet, bis sie endet.`,
    from: "von",
    to: "bis",
    save: "Speichern",
    test: "Test senden",
    tested: "Gesendet. Er kommt gleich an.",
    signOut: "Abmelden",
    signOutSecond: "beendet seine Sitzung, schließt seine Benachrichtigungen",
    signOutHere: "Hier abmelden",
  },
};
export default texts;
