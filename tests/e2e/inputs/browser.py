"""browser.py PAGE [SHOTS]: looks at the report's page as a person does, in headless Chromium:
no console errors, no request to anywhere, filters, sorting, hover, keyboard, dark colours,
print. Writes screenshots into SHOTS if given. Exit status 77: no browser here."""
import time
import base64
import json
import os
import sys

try:
    from selenium import webdriver
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys
    from selenium.webdriver.support.ui import Select
except ImportError:
    print("python3-selenium is not installed")
    sys.exit(77)

page, shots = os.path.abspath(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else None
opt = webdriver.ChromeOptions()
for a in ("--headless=new", "--no-sandbox", "--disable-gpu", "--window-size=1280,1600", "--disable-dev-shm-usage",
          "--no-first-run", "--disable-background-networking", "--force-color-profile=srgb"):
    opt.add_argument(a)
opt.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
try:
    from selenium.webdriver.chrome.service import Service
    opt.binary_location = next(p for p in ("/usr/bin/chromium", "/usr/bin/chromium-browser") if os.path.exists(p))
    b = webdriver.Chrome(service=Service("/usr/bin/chromedriver"), options=opt)
except Exception as e:  # no browser, or it cannot start here
    print("Chromium does not start:", str(e).splitlines()[0] if str(e) else type(e).__name__)
    sys.exit(77)

failed = 0


def check(what, ok, found=""):
    global failed
    if not ok:
        failed += 1
        print(f"FAIL {what} {found}")


def shot(name):
    if shots:
        b.save_screenshot(os.path.join(shots, name + ".png"))


try:
    b.get("file://" + page)
    data = json.loads(b.execute_script("return document.getElementById('data').textContent"))
    sections = b.find_elements(By.CSS_SELECTOR, "#figures section.figure")
    check("every figure is there", len(sections) == len(data["figures"]), len(sections))
    check("every run is there", len(b.find_elements(By.CSS_SELECTOR, "#runs-table tbody tr")) == len(data["runs"]))
    check("charts are drawn", b.execute_script(
        "return [...document.querySelectorAll('canvas')].every(c => Chart.getChart(c))"))
    check("something is painted", b.execute_script(
        "const c = document.querySelector('canvas'); const d = c.getContext('2d').getImageData(0,0,c.width,c.height).data;"
        "const s = new Set(); for (let i = 0; i < d.length; i += 4) s.add(d[i] + ',' + d[i+1] + ',' + d[i+2]); return s.size") > 5)
    kinds = {g["title"]: g["charts"] for g in data["charts"]}
    check("stall causes, rooflines, occupancy", set(kinds) == {"Stall causes", "Roofline", "Occupancy"}, set(kinds))
    if data["runs"]:
        check("each has a chart", all(kinds.values()), {k: len(v) for k, v in kinds.items()})
        labels = kinds["Stall causes"][0]["groups"]
        check("the newest first", labels[0].startswith(f"{max(r['id'] for r in data['runs'])} "), labels[:2])
    check("as many as are described", len(b.find_elements(By.CSS_SELECTOR, "#charts canvas")) == sum(map(len, kinds.values())))
    check("each chart can be saved", b.execute_script(
        "return [...document.querySelectorAll('.chart')].filter(c => !c.closest('[hidden]')).every(c => {"
        " const s = c.nextElementSibling; return s.className === 'save' && s.querySelectorAll('button').length === 2; })"))
    saved = b.execute_script(
        "const got = []; const click = HTMLAnchorElement.prototype.click;"
        "HTMLAnchorElement.prototype.click = function () { got.push([this.download, decodeURIComponent(this.href)]); };"
        "document.querySelectorAll('#figures .save')[0].querySelectorAll('button').forEach(x => x.click());"
        "HTMLAnchorElement.prototype.click = click; return got")
    check("a picture and a table", [n.rsplit(".", 1)[1] for n, _ in saved] == ["png", "csv"], [n for n, _ in saved])
    check("the picture", saved[0][1].startswith("data:image/png;base64,"), saved[0][1][:40])
    check("the table", all(f'"{r}"' in saved[1][1] for r in data["figures"][0]["rows"]), saved[1][1][:200])
    shot("light")

    # Values on bars, and off again.
    picture = "return [...document.querySelectorAll('canvas')].find(c => Chart.getChart(c).config.type === 'bar').toDataURL()"
    before = b.execute_script(picture)
    b.find_element(By.ID, "f-values").click()
    check("values on bars", b.execute_script(picture) != before)
    b.find_element(By.ID, "f-values").click()
    check("and off again", b.execute_script(picture) == before)
    check("occupancy in steps that hold back", all(b.execute_script(
        "return [...document.querySelectorAll('#charts canvas')].map(c => [Chart.getChart(c).options.scales.x.title.text,"
        " Chart.getChart(c).data.datasets[0].stepped])"
        ".filter(([x]) => /of a (block|thread)/.test(x)).map(([, s]) => s === 'after')")))

    # Values in the table are the data's.
    f = data["figures"][0]
    first = sections[0].find_element(By.CSS_SELECTOR, "tbody tr")
    check("first row", first.text.startswith(f["rows"][0]), first.text)

    # Hover: the tooltip holds the values.
    canvas = b.find_element(By.CSS_SELECTOR, "canvas")
    ActionChains(b).move_to_element(canvas).perform()
    tip = b.execute_script("const t = Chart.getChart(arguments[0]).tooltip; return t.opacity ? t.body.map(x => x.lines).flat() : []", canvas)
    check("hover shows values", len(tip) > 0 and ":" in tip[0], tip)

    # Filters.
    workload = next(w for g in data["figures"] for w in g["workloads"])
    Select(b.find_element(By.ID, "f-workload")).select_by_value(workload)
    rows = b.find_elements(By.CSS_SELECTOR, "#figures section.figure:not([hidden]) tbody th")
    allowed = {r for g in data["figures"] for r, w in zip(g["rows"], g["workloads"]) if w == workload}
    check("workload filter", rows and all(r.text in allowed for r in rows), [r.text for r in rows][:5])
    runs = b.find_elements(By.CSS_SELECTOR, "#runs-table tbody tr")
    check("runs are filtered", len(runs) == sum(r["workload"] == workload for r in data["runs"]), len(runs))
    b.find_element(By.ID, "f-reset").click()
    b.execute_async_script("setTimeout(arguments[0], 50)")
    check("show all", len(b.find_elements(By.CSS_SELECTOR, "#runs-table tbody tr")) == len(data["runs"]))
    variant = data["figures"][-1]["series"][0]["variant"]
    Select(b.find_element(By.ID, "f-variant")).select_by_value(variant)
    shown = [s for s in b.find_elements(By.CSS_SELECTOR, "#figures section.figure") if s.is_displayed()]
    want = [g for g in data["figures"] if any(
        s["variant"] == variant and any(g["shows"][m][k] for m in range(len(g["metrics"]))) for k, s in enumerate(g["series"]))]
    check("variant filter", len(shown) == len(want), (variant, len(shown), len(want)))
    b.find_element(By.ID, "f-reset").click()
    b.execute_async_script("setTimeout(arguments[0], 50)")
    machine = data["figures"][0]["series"][0]["machine"]
    Select(b.find_element(By.ID, "f-machine")).select_by_value(machine)
    check("machine filter", all(
        any(s["machine"] == machine for s in g["series"]) == e.is_displayed() for g, e in zip(data["figures"], sections)))
    b.find_element(By.ID, "f-reset").click()
    b.find_element(By.ID, "f-text").send_keys("no such text")
    check("text filter", not any(s.is_displayed() for s in sections))
    b.find_element(By.ID, "f-reset").click()
    b.execute_async_script("setTimeout(arguments[0], 50)")

    # Sorting, by the keyboard.
    if data["runs"]:
        button = next(x for x in b.find_elements(By.CSS_SELECTOR, "#runs-table th button") if x.text.startswith("cycles"))
        column = b.execute_script("return arguments[0].closest('th').cellIndex", button)

        def cells():
            return [int(r.find_elements(By.CSS_SELECTOR, "th,td")[column].text.replace(",", ""))
                    for r in b.find_elements(By.CSS_SELECTOR, "#runs-table tbody tr")]
        b.execute_script("arguments[0].focus()", button)
        b.switch_to.active_element.send_keys(Keys.ENTER)
        check("sorts up", cells() == sorted(cells()))
        check("says so", b.execute_script("return arguments[0].closest('th').ariaSort", button) == "ascending")
        b.switch_to.active_element.send_keys(Keys.SPACE)
        check("sorts down", cells() == sorted(cells(), reverse=True))

    # Everything that can be used is reached by the Tab key and has a name.
    b.execute_script("document.querySelector('.skip').focus()")
    reached = set()
    for _ in range(12):
        ActionChains(b).send_keys(Keys.TAB).perform()
        reached.add(b.switch_to.active_element.get_attribute("id"))
    check("reached by Tab", {"theme", "f-workload", "f-machine", "f-variant", "f-text", "f-reset"} <= reached, reached)
    check("controls have names", b.execute_script(
        "return [...document.querySelectorAll('button,select,input,canvas,table,[role=region]')].every(e =>"
        " e.textContent.trim() || e.labels?.length || e.getAttribute('aria-label') || e.getAttribute('aria-labelledby'))"))
    check("headings in order", b.execute_script(
        "let last = 0; return [...document.querySelectorAll('h1,h2,h3')].every(h => { const n = +h.tagName[1], ok = n <= last + 1;"
        " last = n; return ok; })"))

    # Colours: dark, and enough contrast in both.
    contrast = """
      const lum = c => { const v = c.match(/[0-9.]+/g).slice(0,3).map(x => x/255).map(x => x <= .03928 ? x/12.92 : ((x+.055)/1.055)**2.4);
        return .2126*v[0] + .7152*v[1] + .0722*v[2]; };
      const bg = lum(getComputedStyle(document.body).backgroundColor);
      return Math.min(...['body','.source','a','.holds','.fails'].map(s => document.querySelector(s)).filter(Boolean).map(e => {
        const fg = lum(getComputedStyle(e).color); return (Math.max(fg,bg)+.05)/(Math.min(fg,bg)+.05); }));"""
    check("contrast, light", b.execute_script(contrast) >= 4.5)
    light = b.execute_script("return getComputedStyle(document.body).backgroundColor")
    b.find_element(By.ID, "theme").click()
    check("dark", b.execute_script("return getComputedStyle(document.body).backgroundColor") != light)
    check("says so", b.find_element(By.ID, "theme").get_attribute("aria-pressed") == "true")
    check("contrast, dark", b.execute_script(contrast) >= 4.5)
    b.execute_script("window.scrollTo(0, 0)")
    shot("dark")

    # On paper, and on a telephone.
    pdf = b.execute_cdp_cmd("Page.printToPDF", {"printBackground": True})["data"]
    check("prints", len(base64.b64decode(pdf)) > 20000)
    if shots:
        with open(os.path.join(shots, "print.pdf"), "wb") as out:
            out.write(base64.b64decode(pdf))
    b.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    check("white paper", b.execute_script("return getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)")
    check("dark words in charts on paper", b.execute_script(
        "return Chart.getChart(document.querySelector('canvas')).options.scales.x.ticks.color") in ("#000", "#1b1f24"))
    check("no controls on paper", not b.find_element(By.ID, "filters").is_displayed() and
          not any(s.is_displayed() for s in b.find_elements(By.CSS_SELECTOR, ".save")))
    shot("print")
    b.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    b.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {"width": 390, "height": 800, "deviceScaleFactor": 1, "mobile": True})
    for _ in range(50):  # charts follow the page's width a little later
        if b.execute_script("return document.documentElement.scrollWidth <= 391"):
            break
        time.sleep(0.1)
    check("fits a telephone", b.execute_script("return document.documentElement.scrollWidth <= 391"),
          b.execute_script("return document.documentElement.scrollWidth"))
    shot("phone")

    errors = [e["message"] for e in b.get_log("browser") if e["level"] in ("SEVERE", "WARNING")]
    check("no console errors", not errors, errors)
    urls = [m["params"]["request"]["url"] for m in (json.loads(e["message"])["message"] for e in b.get_log("performance"))
            if m["method"] == "Network.requestWillBeSent"]
    check("no network", all(u.startswith(("file://" + page, "data:")) for u in urls), urls)
finally:
    b.quit()
print(f"browser: {failed} failed")
sys.exit(failed > 0)
