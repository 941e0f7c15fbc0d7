/** Return a submit handler that calls `send` instead of the browser's own request. */
export function submitHandler(send: () => unknown): (event: SubmitEvent) => void {
  return (event) => {
    event.preventDefault();
    void send();
  };
}
