// Calls `resized` with the element at once, and whenever its size changes, as long as it is in the page.
import { useLayoutEffect } from 'preact/hooks';

export function useResize(reference, resized, inputs = []) {
  // In the layout's phase: a later one may come after the element has gone.
  useLayoutEffect(() => {
    const element = reference.current;
    const observer = new ResizeObserver(() => reference.current && resized(element));
    observer.observe(element);
    return () => observer.disconnect();
  }, inputs);
}
