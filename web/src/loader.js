// The one script that the page has in plain text: unpacks the bundle and runs it. The content security policy names the bundle's hash
// too, so nothing else can be run this way.
(async () => {
  const place = document.getElementById('app');
  place.textContent = 'Reading the report…';
  try {
    const packed = atob(document.getElementById('heaptap-script').textContent.trim());
    const stream = new Blob([Uint8Array.from(packed, (letter) => letter.charCodeAt(0))]).stream();
    const script = document.createElement('script');
    script.textContent = await new Response(stream.pipeThrough(new DecompressionStream('gzip'))).text();
    document.head.append(script);
  } catch (error) {
    place.textContent = `This report needs a browser of 2023 or later: Firefox 115, Chromium 115, Safari 16.4. (${error})`;
  }
})();
