/** What a form does when it is sent: this, in place of the browser's own request. */
export function submits(send: () => unknown): (event: SubmitEvent) => void {
  return (event) => {
    event.preventDefault();
    void send();
  };
}
